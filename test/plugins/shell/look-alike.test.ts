// Lines that look like plain reading, and do more: none of them runs unasked, with or without a
// sandbox to run it in. What they look like does, so the table is not empty of meaning.
import { deepEqual, equal } from "node:assert/strict";
import { describe } from "node:test";
import { needs } from "../../support/needs.ts";
import { INIT, shell } from "../../support/repository.ts";
import { place, zz } from "../../support/run.ts";

const rows = (text: string): string[] => text.trim().replaceAll("⏎", "\n").split(/ ¦\s+/);
const TABLE: Record<string, string[]> = {
  "awk that writes, runs, or reads what the line does not name": rows(String.raw`
    awk '{print > "f"}' a.ts ¦ awk '{print $1 >> "f"}' a.ts ¦ awk '{print | "sh"}' a.ts ¦ awk '{print "x" |& "sh"}' a.ts ¦ awk '{printf "x" > "f"}' a.ts ¦
    awk 'BEGIN{system("touch x")}' ¦ awk 'BEGIN{"id" | getline x; print x}' ¦ awk '{getline < ".env"; print}' a.ts ¦
    awk 'BEGIN{while((getline l < ".env")>0) print l}' ¦ awk 'BEGIN{ARGV[1]=".env";ARGC=2}{print}' ¦ awk '{print}' x=1 a.ts ¦ awk -f a.ts a.ts ¦
    awk -i inplace '{print}' a.ts ¦ awk -l filefuncs 1 a.ts ¦ awk -e 'BEGIN{system("x")}' a.ts ¦ awk 'BEGIN{for(k in ENVIRON)print ENVIRON[k]}' ¦
    awk 'BEGIN{f="system";@f("touch x")}' ¦ awk '@include "x"; 1' a.ts ¦ awk '/"/{print > "f"} /"/' a.ts ¦ awk '{print (1)(2) > "f"}' a.ts ¦
    awk '{print x++ / a > b / 2}' a.ts ¦ awk '{print $1 / 2 > "f"}' a.ts ¦ awk '/[/]/{print > "f"}/]/' a.ts ¦ awk '{if (1) /"/; print > "f" /"/ }' a.ts ¦
    awk '{print} # "⏎{print > "f"} # "' a.ts ¦ awk '{print \⏎> "f"}' a.ts ¦ awk -W exec a.ts ¦ awk 1 .env ¦ awk "{print \$1 > \"f\"}" a.ts`),
  "awk that not every awk reads alike": rows(`
    awk 'BEGIN{x = 1system("cat .env")}' ¦ awk 'BEGIN{1getline < ".env"}' ¦ awk 'BEGIN{print 1ENVIRON["HOME"]}' ¦ awk '{x = 1e+system("id")}' a.ts ¦
    awk 'BEGIN{x = length /}1/; print "x" > "/tmp/o"; y = length /[{]1/}' ¦ awk '{x = srand /}1/; print > "f"; y = srand /[{]1/}' a.ts ¦
    awk 'BEGIN{switch (x) {case /}}1/: print "x" > "f"}}' ¦ awk 'BEGIN{for (print "x" > "f"; 0;);}' ¦ awk '{print (1 > 2)}' a.ts ¦ awk '{print a[1 > 2]}' a.ts ¦
    awk '{print x >= y}' a.ts ¦ awk '{print x in ARGV}' a.ts ¦ awk 1 -v .env ¦ awk 1 -F a.ts`),
  "sed that writes, runs, or reads what the line does not name": rows(String.raw`
    sed '1w f' a.ts ¦ sed 's/a/b/w f' a.ts ¦ sed 's/a/b/e' a.ts ¦ sed 's/a/b/ge' a.ts ¦ sed '1e id' a.ts ¦ sed e a.ts ¦ sed '1r .env' a.ts ¦ sed 'R .env' a.ts ¦
    sed -i s/a/b/ a.ts ¦ sed --in-place=.b s/a/b/ a.ts ¦ sed -n -i p a.ts ¦ sed -ni p a.ts ¦ sed -f a.ts a.ts ¦ sed s/a/b/ a.ts -i ¦ sed 's/a/b/;w f' a.ts ¦
    sed 's/a/b/⏎w f' a.ts ¦ sed 's|a|b|e' a.ts ¦ sed 's,a,b,w f' a.ts ¦ sed '/a/w f' a.ts ¦ sed '/a/{w f⏎}' a.ts ¦ sed -e p -e 'w f' a.ts ¦ sed --expression='1e id' a.ts ¦
    sed 's/[/]x/e;s/]/b/' a.ts ¦ sed 's/a\/b/e' a.ts ¦ sed p .env ¦ sed -n '$w f' a.ts ¦ sed '1,2!w f' a.ts ¦ sed --follow-symlinks -i p a.ts ¦
    sed 's/[]/]/p;s/w f/x/' a.ts ¦ sed 's/[^]/]/p;s/w f/x/' a.ts ¦ sed 's/[[:a:]/]/p;s/w f/x/' a.ts ¦ sed 'w f' -e p a.ts ¦ sed p a.ts -n ¦ sed --posix p a.ts ¦ sed 2F a.ts ¦ sed '1W f' a.ts ¦
    sed -sn -e p -e 'R .env' a.ts ¦ sed -n5i p a.ts ¦ sed 's/a/b/5w f' a.ts ¦ sed '\,a,w f' a.ts ¦ sed 's,a\,b,c,e' a.ts ¦ sed '1~2e id' a.ts ¦ sed '/a/I,+1w f' a.ts`),
  "searches that come to secrets, or leave the project": rows(`
    grep -r x . ¦ grep -r x ¦ grep -rn x keys ¦ grep -rf .env src ¦ grep -R x src ¦ grep -r x --include='.e*' . ¦ grep -r x --include='*.pem' . ¦
    grep -r x --exclude-dir=src . ¦ grep -r --exclude=x --include='*.ts' y . ¦ grep -d recurse x . ¦ grep --directories=recurse x . ¦ grep -r x outside ¦
    grep -r x .. ¦ grep -r x /etc ¦ grep -r x secrets ¦ grep -ra x nested/.git ¦ cat nested/.git/objects/x ¦ grep -rn x src .env ¦ grep -r x src/.. ¦ egrep -r x . ¦ grep --recursiv x . ¦ rg -u x ¦ rg -L x src`),
  "a plain part beside one that is not": rows(`
    cat a.ts; rm a.ts ¦ ls && touch f ¦ ls | xargs rm ¦ ls | sh ¦ cat a.ts | tee f ¦ cat a.ts > f ¦ cat a.ts 2> f ¦ cat a.ts &> f ¦ cat a.ts >| f ¦ ls | dd of=f ¦
    cd src && cat ../.env ¦ cd .. && ls ¦ cd outside && ls ¦ cd nested && git log -p ¦ cd src; cd ..; cat ../x ¦ cd src && cd .. && cat .env ¦
    ls & cat .env ¦ x=.env; cat $x ¦ ls; source a.ts ¦ cat a.ts | node ¦ ls | cat .env ¦ cat < .env ¦ cat 0<.env ¦ ls || python3 x.py ¦ true && eval x ¦
    PATH=. ls | cat ¦ alias ls=rm; ls ¦ ls() { rm a.ts; }; ls ¦ ls | while read f; do cat $f; done ¦ ls "$(rm a.ts)" ¦ ls ${"`rm a.ts`"} ¦ cat <(rm a.ts) ¦
    ls | wc --files0-from=- ¦ ls | sort --files0-from=- ¦ ls | du --files0-from=- ¦ echo a | grep -f .env ¦ ls | date -f - ¦ echo .env | file -f - ¦ ls | split`),
  "git that is told more, and elsewhere": rows(`
    echo HEAD:.env | git cat-file --batch ¦ echo HEAD | git log --stdin -p ¦ echo HEAD | git rev-list --stdin ¦ git -C .. status ¦ git -C nested log -p ¦
    git -C . -c alias.x='!id' x ¦ git -C . -C nested log ¦ git -C . push ¦ git -C nowhere status ¦ git -C "$X" status ¦ git --git-dir=nested/.git log ¦ git -C outside log ¦
    git log --output=f ¦ git diff --ext-diff ¦ git show --textconv ¦ git diff --no-index a.ts .env ¦ git grep -f .env ¦ git grep --no-index x ¦ git grep x HEAD~1:.env ¦ git -C . grep -Ox x ¦ git log | git apply ¦ git status; git add a.ts`),
};
const LIKE = rows(String.raw`
  awk '{print}' a.ts ¦ awk '/x/ && NR>1 {print NR": "$0}' a.ts | head ¦ sed -n '/a/,/b/p' a.ts ¦ sed 's/a/b/g;2q' a.ts ¦ awk '{print $1}' a.ts ¦ awk -F: '$3>1000{print $1}' a.ts ¦
  awk 'NR>=10 && NR<=20' a.ts ¦ awk '/start/,/end/' a.ts ¦ awk '{s+=$1} END{print s/NR}' a.ts ¦ awk 'length($0)>80' a.ts ¦ awk 'length > 80' a.ts ¦ awk '!seen[$0]++' a.ts ¦
  awk '{a[$1]++} END {for (k in a) if (a[k] > 1) print k, a[k]; else n++}' a.ts ¦ awk '$1 in a {next} {gsub(/[[:space:]]/, ""); printf "%s\n", $NF / 2}' a.ts ¦
  sed -n '1,80p' a.ts ¦ sed 's/[[:space:]]*$//' a.ts ¦ sed -n -e '/a/p' a.ts ¦ grep -rn x src ¦ grep -rn --include='*.ts' x . ¦
  git grep -n x ¦ cd src && git log -p ¦ cd src && ls ¦ cat a.ts; ls ¦ git -C . log --oneline ¦ ls 2>/dev/null | head -3 || true`);

describe("lines that look alike", () => {
  for (const sandbox of ["off", "auto"])
    needs("git")(`none of them runs unasked where the sandbox is ${sandbox}`, async () => {
      const files = {
        "a.ts": "x\n",
        "src/x.ts": "x\n",
        ".env": "K=1\n",
        "keys/server.pem": "x\n",
        "secrets/db.txt": "x\n",
      };
      const where = place({ ...files, outside: "->/etc" }, { shell: { sandbox } });
      const commit = "git add a.ts; git -c user.name=n -c user.email=e commit -qm one";
      shell(where.cwd, `${INIT}; ${commit}; mkdir nested; cd nested; ${INIT}`);
      const lines = [...Object.values(TABLE).flat(), ...LIKE];
      const input = lines.map((line) => JSON.stringify(line)).join("\n");
      const { stdout } = await zz(where, ["--judge", "-"], { input });
      const lineOf = (text: string): { command: string; way: string } => JSON.parse(text);
      const ways = stdout.trimEnd().split("\n").map(lineOf);
      equal(ways.length, lines.length);
      const go = (way: string) => ways.flatMap((one) => (one.way === way ? one.command : []));
      deepEqual(go("unasked"), LIKE);
      if (sandbox === "off") deepEqual(go("copy"), []);
    });
});
