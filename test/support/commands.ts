// Commands that coding models run in a repository of this kind (TypeScript, with a little Python,
// Rust and Go), about as often as they do; all made up for this table.
// test/all/plugins/shell/asks.test.ts counts how many of them need an answer.
import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { INIT, put, shell } from "./repository.ts";

const lines = (text: string): string[] => text.trim().split(/ § |\n/);

/** Told apart by §; those of several lines are items of a list. */
export const COMMANDS: Record<string, string[]> = {
  "looking at files": lines(`
ls § ls -lh dist 2>/dev/null § ls node_modules | head -20 § cat package.json § cat -n src/price.ts
jq -r '.scripts | keys[]' package.json § head -c 400 src/price.ts § sed -n '10,20p' src/cart.ts
awk '{ if (length($0) > 100) print FILENAME":"FNR }' src/*.ts § file src/price.ts
diff -u src/price.ts src/cart.ts | head -40 § sort -u data/prices.csv | head
for f in src/*.ts; do echo "$f: $(wc -l < "$f")"; done § [ -d node_modules ] && echo installed
cd test && ls && cat price.test.js
`),
  searching: lines(`
grep -n "total" src/price.ts § grep -rn "console.log" src test --include="*.ts" --include="*.js"
grep -R "version" --include=package.json . --exclude-dir=node_modules
grep -n "scripts" -A 8 package.json § grep -rn "foo" src || echo "no match"
grep -A3 -B3 "reduce" src/price.ts § rg -n "export function" --type ts
find src -name '*.ts' | head -20 § find src -name "*.ts" | xargs grep -n "total"
find src -type f -print0 | xargs -0 ls -la § find . -name "*.log" -mtime -1
git ls-files | head -50
`),
  "from the project's folder": lines(`
cd /PROJECT && ls -la § cd /PROJECT && git status --short § cd /PROJECT && git diff
cd /PROJECT && git log --oneline -5
cd /PROJECT && grep -rn "total" src --include="*.ts" | head -20
cd /PROJECT && grep -n "export\\|import" src/price.ts
cd /PROJECT && find . -name "*.ts" -not -path "./node_modules/*" | head
cd /PROJECT && cat package.json § cd /PROJECT && cat src/price.ts | head -50
cd /PROJECT && sed -n '1,40p' src/price.ts § cd /PROJECT && sed -n '/export/,/}/p' src/price.ts
cd /PROJECT && awk 'NR>=1 && NR<=5' src/price.ts § cd /PROJECT && wc -l src/*.ts
cd /PROJECT && head -20 README.md; tail -5 src/cart.ts
cd /PROJECT && ls src tests 2>/dev/null || true § cd /PROJECT && git diff --stat && git status -s
cd /PROJECT && nl -ba src/cart.ts | sed -n '1,20p' § cd /PROJECT/src && ls
cd /PROJECT && sort data/prices.csv | uniq -c | sort -rn | head -5
cd /PROJECT && npm test 2>&1 | tail -20 § cd /PROJECT && python3 -m pytest tests -q 2>&1 | tail -5
cd /PROJECT && npx tsc --noEmit § cd /PROJECT && node -e "console.log(1)"
cd /PROJECT && npm run build
`),
  "git, looking": lines(`
git status § git diff § git diff --cached § git diff --name-only HEAD~1 § git log -5
git log --format='%h %an %s' -5 § git log --follow --oneline -- src/price.ts § git show --stat HEAD
git blame -L 1,5 src/price.ts § git rev-parse --abbrev-ref HEAD § git config --list --local
git status --short | awk '{print $2}' § git -C . log --oneline -2
`),
  "testing and building": lines(`
npm test § npm test -- --grep total § npm run check § npm run lint § npm run build && npm test
npm run § time npm test § npx tsc --noEmit 2>&1 | head -20 § npx eslint src § npx jest
npx biome check . § node_modules/.bin/vitest run --reporter=dot
node --test test/*.test.js 2>&1 | tail -15 § node scripts/report.js | head -5 § make test
sh scripts/check.sh 2>&1 | tail -5 § cargo test -- --nocapture § go vet ./...
pytest tests/test_shop.py -q § python3 -m unittest discover -s tests
gcc -Wall -fsyntax-only native/hello.c § npm test; echo "exit code: $?"
if npm test > /dev/null 2>&1; then echo PASS; else echo FAIL; fi
`),
  "small scripts": [
    ...lines(`
node -e "console.log(1+1)"
node -e 'const p = require("./package.json"); console.log(Object.keys(p.dependencies || {}))'
echo 'console.log(6*7)' | node § python3 -c "import sys; print(sys.version)"
perl -ne 'print if /total/' src/price.ts § date § seq 1 5 | paste -sd+
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
sed -i 's/price/amount/' src/cart.ts § sed -i 's/total/sumOf/g' src/*.ts && git diff --stat
perl -pi -e 's/total/sum/' src/price.ts § echo "export const a = 1;" > src/a.ts
mv src/cart.ts src/basket.ts § rm -rf dist && npm run build § git clean -fd
npm version patch --no-git-tag-version § ln -s ../README.md docs/README.md
`),
    "cat > test/new.test.js <<'EOF'\nconst test = require('node:test');\ntest('x', () => {});\nEOF\nnode --test test/new.test.js",
    "node -e \"const fs=require('fs');fs.writeFileSync('src/x.ts', fs.readFileSync('src/price.ts','utf8').replace(/total/g,'sum'))\"",
  ],
  "git, changing": lines(`
git add -A § git commit -m "Say what it does" -m "And why" § git stash
git mv src/cart.ts src/basket.ts
`),
  "installing and the web": lines(`
npm install § npm ls § npm config get registry § pip list § curl -s https://example.com/api | head
python3 --version
`),
  "servers and processes": [
    ...lines(`
node scripts/server.js & sleep 1; curl -s http://127.0.0.1:8123/; kill %1 § timeout 3 npm run dev
curl -s http://localhost:3000/health § lsof -i :3000 § docker compose up -d
`),
  ],
  "the machine": lines(`
env | sort | head -20 § ls /usr/lib | head § ls ..
`),
};

const STUB = "#!/bin/sh\n";
/** Stand-ins for a project's tools, which are not installed here: they write what the tools would
 * write. */
const OWN_BIN: Record<string, string> = {
  tsc: `case "$*" in *noEmit*) echo checked;; *) mkdir -p dist; echo built > dist/index.js;; esac`,
  eslint: `case "$*" in *--fix*) sed -i 's/ *$//' src/price.ts;; esac; echo ok`,
  vitest: "mkdir -p node_modules/.vite; echo x > node_modules/.vite/results.json; echo 3 passed",
  jest: `case "$*" in *coverage*) mkdir -p coverage; echo x > coverage/lcov.info;; esac; echo 3 passed`,
};
const MACHINE_BIN: Record<string, string> = {
  cargo: `case "$1" in build|test|check|clippy|run) mkdir -p target/debug; echo x > target/debug/shop;; esac; echo ok`,
  go: "echo ok",
  pytest: "mkdir -p .pytest_cache; echo x > .pytest_cache/lastfailed; echo 3 passed",
  pip: "echo requests 2.0",
  docker: "echo cannot connect; exit 1",
};

const SCRIPTS = {
  test: "node --test",
  check: "tsc --noEmit && eslint src",
  build: "node scripts/build.js",
  lint: "eslint src",
  dev: "node scripts/server.js",
};
const FILES: Record<string, string> = {
  "package.json": `${JSON.stringify({ name: "shop", version: "1.0.0", scripts: SCRIPTS, dependencies: {} }, null, 2)}\n`,
  "tsconfig.json": "{}\n",
  "README.md": "# Shop\n\nAdds prices up.\n",
  "src/price.ts":
    "export function total(prices: number[]) {\n  return prices.reduce((sum, price) => sum - price, 0);\n}\n",
  "src/cart.ts": 'import { total } from "./price.ts";\nconsole.log(total([1]));\n',
  "test/price.test.js": 'const test = require("node:test");\ntest("adds", () => {});\n',
  "scripts/build.js":
    'const fs = require("node:fs");\nfs.mkdirSync("dist", { recursive: true });\nfs.writeFileSync("dist/index.js", "x");\n',
  "scripts/report.js": "console.log('report');\n",
  "scripts/server.js":
    'require("node:http").createServer((_, r) => r.end("ok")).listen(8123, "127.0.0.1");\n',
  "scripts/check.sh": "#!/bin/sh\nnpm run check\n",
  "data/prices.csv": "a,1\nb,2\na,3\n",
  "docs/.gitkeep": "",
  "app.py":
    "import sys\n\ndef total(prices):\n    return sum(prices)\n\nif __name__ == '__main__':\n    print(total([1, 2]))\n",
  "tests/test_shop.py":
    "import unittest\n\nclass T(unittest.TestCase):\n    def test_one(self):\n        self.assertEqual(1, 1)\n",
  "native/hello.c": '#include <stdio.h>\nint main(void) { puts("hi"); return 0; }\n',
  Makefile:
    "all: build\nbuild:\n\tnode scripts/build.js\ntest:\n\tnode --test\nlint:\n\tnode_modules/.bin/eslint src\nclean:\n\trm -rf dist\n.PHONY: all build test lint clean\n",
  "Cargo.toml": '[package]\nname = "shop"\nversion = "0.1.0"\n',
  "go.mod": "module shop\n",
  ".gitignore": "dist/\nnode_modules/\ncoverage/\ntarget/\n.env\n__pycache__/\n*.log\n",
  ".env": "KEY=secret-7731\nPORT=1\n",
};

/** Makes a project in which those commands make sense, with two commits and a stash; `bin` is a
 * folder for PATH. */
export function furnishShop(root: string, bin: string): void {
  put(root, FILES);
  for (const [name, body] of Object.entries(OWN_BIN))
    put(join(root, "node_modules/.bin"), { [name]: `${STUB}${body}\n` });
  mkdirSync(bin, { recursive: true });
  for (const [name, body] of Object.entries(MACHINE_BIN)) put(bin, { [name]: `${STUB}${body}\n` });
  for (const [folder, names] of [
    [join(root, "node_modules/.bin"), Object.keys(OWN_BIN)],
    [bin, Object.keys(MACHINE_BIN)],
    [join(root, "scripts"), ["check.sh"]],
  ] as const)
    for (const name of names) chmodSync(join(folder, name), 0o755);
  const who = "-c user.name=n -c user.email=n@example.com";
  shell(
    root,
    `${INIT.replace("trunk", "main")}; git add -A; git ${who} commit -qm one; echo "// two" >> src/cart.ts; git ${who} commit -qam two
     echo "// stashed" >> src/cart.ts; git ${who} stash -q; echo "// under way" >> src/cart.ts`,
  );
}
