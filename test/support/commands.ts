// Commands that coding models run in a repository of this kind (TypeScript, with a little Python, Rust and Go), about
// as often as they do; all made up for this table. test/all/plugins/shell/asks.test.ts counts how many of them need an answer.
import { INIT, put, shell } from "./repository.ts";

const lines = (text: string): string[] => text.trim().split("\n");

/** One command a line; those of several lines are items of a list. */
export const COMMANDS: Record<string, string[]> = {
  "looking at files": lines(`
ls
ls node_modules | head -20
cat package.json
jq -r '.scripts | keys[]' package.json
sed -n '10,20p' src/cart.ts
awk '{ if (length($0) > 100) print FILENAME":"FNR }' src/*.ts
diff -u src/price.ts src/cart.ts | head -40
for f in src/*.ts; do echo "$f: $(wc -l < "$f")"; done
[ -d node_modules ] && echo installed
cd test && ls && cat price.test.js
`),
  searching: lines(`
grep -n "total" src/price.ts
grep -rn "console.log" src test --include="*.ts" --include="*.js"
grep -rn "foo" src || echo "no match"
rg -n "export function" --type ts
find src -name '*.ts' | head -20
find src -name "*.ts" | xargs grep -n "total"
find . -name "*.log" -mtime -1
git ls-files | head -50
`),
  "from the project's folder": lines(`
cd /PROJECT && git log --oneline -5
cd /PROJECT && grep -rn "total" src --include="*.ts" | head -20
cd /PROJECT && find . -name "*.ts" -not -path "./node_modules/*" | head
cd /PROJECT && cat src/price.ts | head -50
cd /PROJECT && sed -n '1,40p' src/price.ts
cd /PROJECT && ls src tests 2>/dev/null || true
cd /PROJECT && git diff --stat && git status -s
cd /PROJECT/src && ls
cd /PROJECT && sort data/prices.csv | uniq -c | sort -rn | head -5
cd /PROJECT && npm test 2>&1 | tail -20
cd /PROJECT && python3 -m pytest tests -q 2>&1 | tail -5
`),
  "git, looking": lines(`
git status
git diff
git diff --name-only HEAD~1
git log --format='%h %an %s' -5
git blame -L 1,5 src/price.ts
git rev-parse --abbrev-ref HEAD
git config --list --local
git status --short | awk '{print $2}'
git -C . log --oneline -2
`),
  "testing and building": lines(`
npm test
npm test -- --grep total
npm run build && npm test
time npm test
npx tsc --noEmit 2>&1 | head -20
node_modules/.bin/vitest run --reporter=dot
node --test test/*.test.js 2>&1 | tail -15
node scripts/report.js | head -5
make test
sh scripts/check.sh 2>&1 | tail -5
cargo test -- --nocapture
go vet ./...
pytest tests/test_shop.py -q
gcc -Wall -fsyntax-only native/hello.c
npm test; echo "exit code: $?"
if npm test > /dev/null 2>&1; then echo PASS; else echo FAIL; fi
`),
  "small scripts": [
    ...lines(`
node -e "console.log(1+1)"
node -e 'const p = require("./package.json"); console.log(Object.keys(p.dependencies || {}))'
echo 'console.log(6*7)' | node
python3 -c "import sys; print(sys.version)"
perl -ne 'print if /total/' src/price.ts
date
seq 1 5 | paste -sd+
sqlite3 :memory: "select 1+1"
`),
    "python3 - <<'EOF'\nimport re\ntext = open('src/price.ts').read()\nprint(len(re.findall('export', text)))\nEOF",
    "python3 << 'PY'\nimport os\nfor root, dirs, files in os.walk('src'):\n    print(root, len(files))\nPY",
    "cat > /tmp/try.mjs <<'EOF'\nimport { total } from '/PROJECT/src/price.ts';\nconsole.log(total([1, 2]));\nEOF\nnode /tmp/try.mjs",
    "cat <<'EOF'\nPlan:\n1. read\n2. edit\nEOF",
    "cat /tmp/test.log | tail -5",
  ],
  "changing files": [
    ...lines(`
sed -i 's/total/sumOf/g' src/*.ts && git diff --stat
echo "export const a = 1;" > src/a.ts
mv src/cart.ts src/basket.ts
rm -rf dist && npm run build
git clean -fd
npm version patch --no-git-tag-version
ln -s ../README.md docs/README.md
`),
    "cat > test/new.test.js <<'EOF'\nconst test = require('node:test');\ntest('x', () => {});\nEOF\nnode --test test/new.test.js",
    "node -e \"const fs=require('fs');fs.writeFileSync('src/x.ts', fs.readFileSync('src/price.ts','utf8').replace(/total/g,'sum'))\"",
  ],
  "git, changing": lines(`
git add -A
git commit -m "Say what it does" -m "And why"
git stash
git mv src/cart.ts src/basket.ts
`),
  "installing and the web": lines(`
npm install
npm ls
pip list
curl -s https://example.com/api | head
python3 --version
`),
  "servers and processes": [
    ...lines(`
node scripts/server.js & sleep 1; curl -s http://127.0.0.1:8123/; kill %1
timeout 3 npm run dev
curl -s http://localhost:3000/health
lsof -i :3000
docker compose up -d
`),
  ],
  "the machine": lines(`
env | sort | head -20
ls /usr/lib | head
ls ..
`),
};

const FILES: Record<string, string> = {
  "package.json":
    '{ "name": "shop", "scripts": { "test": "node --test", "build": "node scripts/build.js", "dev": "node scripts/server.js" } }',
  ...{
    "README.md": "# Shop\n",
    "src/price.ts": "export const total = 1;\n",
    "src/cart.ts": "",
    "test/price.test.js": "",
  },
  ...{ "scripts/server.js": "", "data/prices.csv": "a,1\n", "tests/test_shop.py": "", "node_modules/x/index.js": "" },
  ...{ ".gitignore": "dist/\nnode_modules/\n.env\n", ".env": "KEY=secret-7731\n" },
};

/** Makes a project in which those commands make sense. */
export function furnishShop(root: string): void {
  put(root, FILES);
  shell(root, `${INIT}; git add -A; git -c user.name=n -c user.email=n@example.com commit -qm one`);
}
