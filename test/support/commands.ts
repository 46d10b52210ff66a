// Commands that coding models run in a repository of this kind (TypeScript, with a little Python, Rust and Go), about
// as often as they do; all made up for this table. test/slow/asks.test.ts counts how many of them need an answer.
import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { INIT, put, shell } from "./repository.ts";

const lines = (text: string): string[] => text.trim().split("\n");

/** One command a line; those of several lines are items of a list. */
export const COMMANDS: Record<string, string[]> = {
  "looking at files": lines(String.raw`
ls
ls -la
ls -la src test
ls src/*.ts
ls -lh dist 2>/dev/null
ls -R src | head -40
ls -1 src | wc -l
ls -t | head -5
ls node_modules | head -20
ls node_modules/.bin
pwd
pwd && ls -la
cat package.json
cat src/price.ts
cat src/cart.ts src/price.ts
cat tsconfig.json | head -30
cat -n src/price.ts
cat README.md | head -50
cat package.json | grep -A 12 '"scripts"'
cat package.json | jq .scripts
jq -r '.scripts | keys[]' package.json
jq '.dependencies' package.json
head -20 src/cart.ts
head -n 60 README.md
head -c 400 src/price.ts
tail -20 src/cart.ts
tail -n +5 src/price.ts
sed -n '1,40p' src/cart.ts
sed -n '10,20p' src/cart.ts
sed -n '/export function/,/^}/p' src/price.ts
sed -n '1,5p;10,12p' src/cart.ts
sed -e 's/^ *//' src/price.ts | head
nl -ba src/price.ts | sed -n '1,10p'
awk 'NR>=1 && NR<=10' src/price.ts
awk '/export/ {print FILENAME": "$0}' src/*.ts
awk -F: '{print $1}' src/price.ts | sort -u
awk '{ if (length($0) > 100) print FILENAME":"FNR }' src/*.ts
wc -l src/*.ts
wc -l src/*.ts test/*.js | tail -1
wc -c dist/* 2>/dev/null
du -sh .
du -sh node_modules dist 2>/dev/null
du -h --max-depth=1 | sort -h | tail -5
stat src/price.ts
file src/price.ts
tree -L 2 -I node_modules
tree src 2>/dev/null || find src -type f
diff src/price.ts src/cart.ts
diff -u src/price.ts src/cart.ts | head -40
diff -r src dist | head
cmp src/price.ts src/cart.ts
md5sum src/price.ts
sha256sum src/*.ts
xxd src/price.ts | head -3
od -c src/price.ts | head -3
basename src/price.ts .ts
realpath src/price.ts
readlink -f node_modules/.bin/tsc
column -t -s, data/prices.csv
cut -d, -f1 data/prices.csv | sort | uniq -c | sort -rn
sort -u data/prices.csv | head
tr -s ' ' '\n' < README.md | sort | uniq -c | sort -rn | head -5
paste -d, data/prices.csv data/prices.csv | head -2
for f in src/*.ts; do echo "== $f"; head -5 "$f"; done
for f in src/*.ts; do echo "$f: $(wc -l < "$f")"; done
for i in 1 2 3; do echo "run $i"; done
while read -r line; do echo "> $line"; done < data/prices.csv
test -f dist/index.js && echo built || echo missing
[ -d node_modules ] && echo installed
if [ -f .eslintrc.json ]; then cat .eslintrc.json; else echo none; fi
cd src && ls -la
cd src && cat price.ts && cd ..
cd test && ls && cat price.test.js
ls; echo ---; cat package.json
echo "=== package ===" && cat package.json && echo "=== ts ===" && cat tsconfig.json
`),
  searching: lines(String.raw`
grep -n "total" src/price.ts
grep -rn "total" src
grep -rn "TODO" src test
grep -rn "import .* from" src --include=*.ts
grep -rn "console.log" src test --include="*.ts" --include="*.js"
grep -rl "price" src
grep -rc "export" src | grep -v ":0"
grep -rn "describe(" test | head -20
grep -R "version" --include=package.json . --exclude-dir=node_modules
grep -rnE "function (total|add)" src/
grep -rn 'PRICE_LIMIT' . --exclude-dir=node_modules --exclude-dir=dist
grep -rin "readme" --include="*.md" .
grep -n "scripts" -A 8 package.json
grep -c "" src/price.ts
grep -v "^//" src/price.ts | head
grep -o "export [a-z]* [A-Za-z]*" src/*.ts
grep -rn "foo" src || echo "no match"
grep -rn "total" src | wc -l
grep -rh "^import" src | sort | uniq -c | sort -rn
grep -rn "sum" src | awk -F: '{print $1}' | sort | uniq
grep -A3 -B3 "reduce" src/price.ts
grep -E "^(export|import)" src/cart.ts
egrep -n "let|const" src/price.ts
rg "total" src
rg -n "export function" --type ts
rg -l "price" src | xargs wc -l
rg --files src | head
find . -name "*.ts" -not -path "./node_modules/*"
find src -name '*.ts' | head -20
find src -type f | wc -l
find . -maxdepth 2 -type d -not -path './node_modules*' -not -path './.git*'
find . -name "*.test.*" -not -path "*/node_modules/*" | sort
find src -name "*.ts" | xargs grep -n "total"
find src -name "*.ts" -exec grep -l "price" {} \;
find src -name "*.ts" -exec wc -l {} +
find . -path ./node_modules -prune -o -name "*.json" -print
find src -type f -print0 | xargs -0 ls -la
find . -newer package.json -type f -not -path './.git/*' | head
find src -type f -name '*.ts' | xargs -I{} basename {}
find src -size +1k -type f
find . -name "*.log" -mtime -1
git grep -n "total"
git grep -l "price" -- src
git ls-files | grep test
git ls-files | head -50
git ls-files | xargs wc -l | sort -n | tail -5
`),
  "git, looking": lines(`
git status
git status --short
git status -sb
git status --porcelain
git diff
git diff --stat
git diff HEAD
git diff HEAD~1
git diff --cached
git diff src/price.ts
git diff HEAD~1 --stat
git diff main...HEAD --stat
git diff --name-only HEAD~1
git --no-pager diff | head -100
git log --oneline -10
git log --oneline | head -20
git log -5
git log -3 --stat
git log --oneline --graph --all -20
git log -p -1 src/price.ts
git log --format='%h %an %s' -5
git log --since="2 weeks ago" --oneline
git log -S total --oneline
git --no-pager log --oneline -5
git log --follow --oneline -- src/price.ts
git log | head -20
git show
git show HEAD
git show --stat HEAD
git show HEAD:src/price.ts
git show HEAD~1:src/price.ts | head -20
git blame src/price.ts
git blame -L 1,5 src/price.ts
git branch
git branch -a
git branch --show-current
git stash list
git stash show -p
git remote -v
git rev-parse HEAD
git rev-parse --abbrev-ref HEAD
git tag
git describe --tags --always
git config --get user.name
git config --list --local
git check-ignore -v dist
git worktree list
git shortlog -sn HEAD
git reflog | head -5
git merge-base main HEAD
git status && git diff
git status; git log --oneline -3
git status --short | awk '{print $2}'
git diff > /tmp/before.patch; wc -l /tmp/before.patch
cd src && git status --short
cd src && git diff -- price.ts
git -C . log --oneline -2
`),
  "testing and building": lines(`
npm test
npm test 2>&1
npm test 2>&1 | tail -20
npm test 2>&1 | tail -50
npm test -- --grep total
npm test > /tmp/test.log 2>&1; tail -30 /tmp/test.log
npm test 2>&1 | grep -E "pass|fail"
npm run test
npm run check
npm run check 2>&1 | tail -20
npm run build
npm run build 2>&1 | tail -5
npm run lint
npm run lint 2>&1 | head -40
npm run typecheck
npm run typecheck && npm test
npm run build && npm test
npm run lint && npm run typecheck && npm test
npm run format
npm run --silent check
npm run
CI=1 npm test
NODE_ENV=test npm test
FORCE_COLOR=0 npm test 2>&1 | tail -10
time npm test
timeout 60 npm test
timeout 120 npm test 2>&1 | tail -30
npx tsc --noEmit
npx tsc --noEmit 2>&1 | head -20
npx tsc -p tsconfig.json --noEmit
npx tsc --noEmit && echo OK
npx tsc
npx eslint src
npx eslint src --ext .ts
npx eslint . --max-warnings 0
npx eslint src/price.ts --fix
npx prettier --check src
npx prettier --write src/price.ts
npx vitest run
npx vitest run test/price.test.js
npx jest
npx jest --coverage
npx jest test/price.test.js -t "adds"
npx mocha test
npx biome check .
npx tsx src/cart.ts
./node_modules/.bin/tsc --noEmit
./node_modules/.bin/eslint src
node_modules/.bin/vitest run --reporter=dot
node --test
node --test
node --test test/price.test.js
node --test test/*.test.js 2>&1 | tail -15
node --test --test-name-pattern=total
node --check scripts/report.js
node scripts/report.js
node scripts/report.js | head -5
node scripts/build.js
node src/price.ts
yarn test
yarn build
pnpm test
pnpm run lint
make
make test
make build
make -j4 test
make lint 2>&1 | tail
make clean
make -n build
bash scripts/check.sh
./scripts/check.sh
sh scripts/check.sh 2>&1 | tail -5
cargo build
cargo build --release 2>&1 | tail -5
cargo test
cargo test -- --nocapture
cargo check
cargo clippy -- -D warnings
cargo fmt -- --check
cargo run --quiet
go build ./...
go test ./...
go test ./... -run TestTotal -v
go vet ./...
gofmt -l .
pytest
pytest -q
pytest tests/test_shop.py -q
pytest -x -q 2>&1 | tail -10
python -m pytest tests -q
python3 -m pytest -k total
python3 -m unittest discover -s tests
python3 -m py_compile app.py
python3 app.py
python3 app.py --help
ruff check .
mypy app.py
cd tests && python3 -m unittest
gcc -o /tmp/hello native/hello.c && /tmp/hello
gcc -Wall -fsyntax-only native/hello.c
npm test 2>&1 | tee /tmp/out.txt | tail -3
npm test || true
(npm test; echo "exit: $?")
npm test; echo "exit code: $?"
set -e; npm run lint; npm test
export CI=1 && npm test
for i in 1 2 3; do npm test 2>&1 | tail -1; done
if npm test > /dev/null 2>&1; then echo PASS; else echo FAIL; fi
`),
  "small scripts": [
    ...lines(String.raw`
node -e "console.log(1+1)"
node -e "console.log(require('./package.json').version)"
node -p "process.version"
node -p "require('./package.json').scripts"
node -e 'const p = require("./package.json"); console.log(Object.keys(p.dependencies || {}))'
node --input-type=module -e "import { total } from './src/price.ts'; console.log(total([2,3]))"
node -e "require('fs').readdirSync('src').forEach(f => console.log(f))"
node -e "JSON.parse(require('fs').readFileSync('tsconfig.json','utf8')); console.log('valid')"
echo 'console.log(6*7)' | node
cat package.json | node -e "let s='';process.stdin.on('data',d=>s+=d).on('end',()=>console.log(JSON.parse(s).name))"
python3 -c "print(2**10)"
python3 -c "import json; print(json.load(open('package.json'))['name'])"
python3 -c "import sys; print(sys.version)"
python3 -c "import app; print(app.total([1,2]))"
python3 -m json.tool package.json
python3 -m json.tool < tsconfig.json > /dev/null && echo valid
perl -ne 'print if /total/' src/price.ts
perl -e 'print join(",", map { $_ * 2 } 1..5), "\n"'
echo "scale=2; 10/3" | bc
echo $((17 * 23))
date
date +%Y-%m-%d
echo "$HOME" "$PWD"
printf '%s\n' a b c | sort -r
seq 1 5 | paste -sd+
seq 1 3 | xargs -I{} echo item {}
x=$(grep -c export src/price.ts); echo "exports: $x"
VERSION=$(node -p "require('./package.json').version") && echo "v$VERSION"
sqlite3 :memory: "select 1+1"
bash -c 'echo hello from $0'
sleep 1 && echo done
`),
    "python3 - <<'EOF'\nimport re\ntext = open('src/price.ts').read()\nprint(len(re.findall('export', text)))\nEOF",
    "python3 <<'EOF'\nimport json\nprint(sorted(json.load(open('package.json'))['scripts']))\nEOF",
    "python3 - <<EOF\nfor n in range(3):\n    print(n)\nEOF",
    "python3 << 'PY'\nimport os\nfor root, dirs, files in os.walk('src'):\n    print(root, len(files))\nPY",
    "node <<'EOF'\nconst { name } = require('./package.json');\nconsole.log(name);\nEOF",
    "node --input-type=module - <<'EOF'\nimport fs from 'node:fs';\nconsole.log(fs.readdirSync('src').length);\nEOF",
    "cat > /tmp/try.mjs <<'EOF'\nimport { total } from '/PROJECT/src/price.ts';\nconsole.log(total([1, 2]));\nEOF\nnode /tmp/try.mjs",
    "cat > /tmp/probe.py <<'EOF'\nprint('probe')\nEOF\npython3 /tmp/probe.py",
    "cat <<'EOF' | node\nconsole.log([1, 2, 3].map((n) => n * 2));\nEOF",
    "cat <<'EOF'\nPlan:\n1. read\n2. edit\nEOF",
    'for f in src/*.ts; do\n  n=$(grep -c export "$f")\n  echo "$f $n"\ndone',
    'for f in test/*.test.js; do\n  echo "--- $f"\n  node --test "$f" 2>&1 | tail -2\ndone',
    "cat /tmp/test.log | tail -5",
    "node /tmp/try.mjs",
  ],
  "changing files": [
    ...lines(String.raw`
sed -i 's/price/amount/' src/cart.ts
sed -i 's/sum - price/sum + price/' src/price.ts
sed -i '1s/^/\/\/ first\n/' src/price.ts
sed -i -e 's/foo/bar/g' -e 's/old/new/g' README.md
sed -i 's/total/sumOf/g' src/*.ts && git diff --stat
sed -i '/console.log/d' src/cart.ts
find src -name '*.ts' -exec sed -i 's/total/sum/g' {} +
grep -rl total src | xargs sed -i 's/total/sum/g'
perl -pi -e 's/total/sum/' src/price.ts
mkdir -p src/util
mkdir -p src/components/cart && touch src/components/cart/index.ts
touch src/new.ts
echo "export const a = 1;" > src/a.ts
echo "dist/" >> .gitignore
printf 'one\ntwo\n' > notes.txt
cp src/price.ts src/price.old.ts
mv src/cart.ts src/basket.ts
rm src/cart.ts
rm -f dist/index.js
rm -rf dist
rm -rf dist && npm run build
rm -rf src/util test/fixtures
chmod +x scripts/check.sh
chmod 755 scripts/check.sh && ./scripts/check.sh
git clean -fd
git clean -nd
git apply fix.patch
patch -p1 < fix.patch
npm version patch --no-git-tag-version
npm pkg set scripts.hello="echo hello"
node scripts/codemod.js
python3 scripts/codemod.py
ln -s ../README.md docs/README.md
jq '.version = "2.0.0"' package.json > tmp.json && mv tmp.json package.json
`),
    "cat > src/new.ts <<'EOF'\nexport const answer = 42;\nEOF",
    "cat > test/new.test.js <<'EOF'\nconst test = require('node:test');\ntest('x', () => {});\nEOF\nnode --test test/new.test.js",
    "cat >> README.md <<'EOF'\n\n## More\nEOF",
    "python3 - <<'EOF'\nimport pathlib\np = pathlib.Path('src/price.ts')\np.write_text(p.read_text().replace('total', 'sum'))\nEOF",
    "node -e \"const fs=require('fs');fs.writeFileSync('src/x.ts', fs.readFileSync('src/price.ts','utf8').replace(/total/g,'sum'))\"",
    "tee src/tee.ts <<'EOF' > /dev/null\nexport {};\nEOF",
  ],
  "git, changing": lines(`
git add -A
git add src/price.ts
git add -A && git commit -m "Fix the total"
git commit -am "Add prices up"
git commit -m "Say what it does" -m "And why"
git checkout -b fix-total
git checkout main
git checkout -- src/price.ts
git stash
git stash pop
git stash && npm test; git stash pop
git restore src/price.ts
git mv src/cart.ts src/basket.ts
git push origin HEAD
git pull
git reset HEAD~1
`),
  "installing and the web": lines(`
npm install
npm install left-pad
npm install --save-dev vitest
npm ci
npm ls
npm ls --depth=0
npm ls react 2>/dev/null
npm outdated
npm config get registry
npm root
npm --version
npx --version
pip list
pip show requests
pip install -r requirements.txt
pip --version
curl -s https://example.com/api | head
curl -sI https://example.com
node -v
node --version && npm --version
python3 --version
which node npm python3
command -v tsc || echo none
type git
cargo --version
gh pr list
`),
  "servers and processes": [
    ...lines(`
node scripts/server.js & sleep 1; curl -s http://127.0.0.1:8123/; kill %1
node scripts/server.js > /tmp/server.log 2>&1 & PID=$!; sleep 1; curl -s localhost:8123/health; kill $PID
(node scripts/server.js &) ; sleep 1; curl -s http://localhost:8123 | head -3
timeout 3 node scripts/server.js
timeout 3 npm run dev
timeout 5 npm start || true
npm run dev & sleep 2; curl -sf http://localhost:8123; pkill -f server.js
npm run dev
curl -s http://localhost:3000/health
ps aux | grep node
ps aux | head -5
pgrep -fl node
lsof -i :3000
kill 99999
pkill -f "node scripts/server.js"
docker ps
docker compose up -d
jobs
`),
  ],
  "the machine": lines(String.raw`
uname -a
whoami
id -un
env | grep -i node
env | sort | head -20
printenv PATH
echo $PATH | tr ':' '\n'
df -h .
free -m
nproc
cat /etc/os-release
cat /proc/cpuinfo | grep "model name" | head -1
ls /usr/lib | head
ls /tmp
ulimit -n
hostname
locale
cat .env
cat .env.example
grep -n PORT .env
ls ..
cat ../other/README.md
ls ~
`),
};

const STUB = "#!/bin/sh\n";
/** Stand-ins for a project's tools, which are not installed here: they write what the tools would write. */
const OWN_BIN: Record<string, string> = {
  tsc: `case "$*" in *noEmit*) echo checked;; *) mkdir -p dist; echo built > dist/index.js;; esac`,
  eslint: `case "$*" in *--fix*) sed -i 's/ *$//' src/price.ts;; esac; echo ok`,
  prettier: `case "$*" in *--write*) echo "// pretty" >> src/price.ts;; esac; echo ok`,
  vitest: "mkdir -p node_modules/.vite; echo x > node_modules/.vite/results.json; echo 3 passed",
  jest: `case "$*" in *coverage*) mkdir -p coverage; echo x > coverage/lcov.info;; esac; echo 3 passed`,
  mocha: "echo 3 passing",
  biome: "echo Checked 2 files",
  tsx: `exec node "$@"`,
};
const MACHINE_BIN: Record<string, string> = {
  cargo: `case "$1" in build|test|check|clippy|run) mkdir -p target/debug; echo x > target/debug/shop;; esac; echo ok`,
  go: "echo ok",
  gofmt: "true",
  pytest: "mkdir -p .pytest_cache; echo x > .pytest_cache/lastfailed; echo 3 passed",
  ruff: "mkdir -p .ruff_cache; echo x > .ruff_cache/x; echo All checks passed",
  mypy: "mkdir -p .mypy_cache; echo x > .mypy_cache/x; echo Success",
  yarn: `mkdir -p "\${XDG_CACHE_HOME:-$HOME/.cache}/yarn"; case "$1" in build) node scripts/build.js;; *) echo ok;; esac`,
  pnpm: "echo ok",
  pip: "echo requests 2.0",
  docker: "echo cannot connect; exit 1",
  gh: "echo no",
  tree: "find .",
  patch: "cat > /dev/null; echo patched >> src/price.ts",
};

const FILES: Record<string, string> = {
  "package.json": `${JSON.stringify(
    {
      name: "shop",
      version: "1.0.0",
      scripts: {
        test: "node --test",
        check: "tsc --noEmit && eslint src",
        build: "node scripts/build.js",
        lint: "eslint src",
        typecheck: "tsc --noEmit",
        format: "prettier --write src",
        dev: "node scripts/server.js",
        start: "node scripts/server.js",
      },
      dependencies: {},
    },
    null,
    2,
  )}\n`,
  "tsconfig.json": "{}\n",
  "README.md": "# Shop\n\nAdds prices up.\n",
  "src/price.ts":
    "export function total(prices: number[]) {\n  return prices.reduce((sum, price) => sum - price, 0);\n}\n",
  "src/cart.ts": 'import { total } from "./price.ts";\nconsole.log(total([1]));\n',
  "test/price.test.js": 'const test = require("node:test");\ntest("adds", () => {});\n',
  "scripts/build.js":
    'const fs = require("node:fs");\nfs.mkdirSync("dist", { recursive: true });\nfs.writeFileSync("dist/index.js", "x");\n',
  "scripts/report.js": "console.log('report');\n",
  "scripts/codemod.js": 'require("node:fs").appendFileSync("src/price.ts", "// mod\\n");\n',
  "scripts/codemod.py": "open('src/price.ts', 'a').write('// mod\\n')\n",
  "scripts/server.js": 'require("node:http").createServer((_, r) => r.end("ok")).listen(8123, "127.0.0.1");\n',
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
  "requirements.txt": "requests\n",
  "fix.patch":
    "--- a/README.md\n+++ b/README.md\n@@ -1,3 +1,3 @@\n # Shop\n \n-Adds prices up.\n+Adds all prices up.\n",
  ".gitignore": "dist/\nnode_modules/\ncoverage/\ntarget/\n.env\n__pycache__/\n*.log\n",
  ".env": "KEY=secret-7731\nPORT=1\n",
  ".env.example": "KEY=\n",
};

/** Makes a project in which those commands make sense, with two commits and a stash; `bin` is a folder for PATH. */
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
