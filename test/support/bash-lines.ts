// Makes command lines by bash's grammar, harmless and harmful ones mixed, to try the judge of
// commands on.
import { random } from "./runs.ts";

/** Commands that must never run unasked: they run a program of the project, or make, change or
 * remove a file. */
const PAYLOADS = `./canary § canary § >pwned § touch pwned § id >pwned § rm a.ts § tee pwned
  cp a.ts pwned`.split(/ § |\n */);

/** Words that are told apart by two spaces, since some hold one. */
const words = (text: string): string[] => text.trim().split(/ {2,}|\n */);

const NAMES = words(`
  x  y  i  a  f  RANDOM  SECONDS  OPTIND  LINENO  PATH  IFS  HOME  BASH_ENV  PS4  LD_PRELOAD  CI  LANG  REPLY  BASH_CMDS
  PIPESTATUS  COMP_CWORD  histchars  FUNCNEST  GIT_PAGER  GREP_OPTIONS`);
const FILES = words(`
  a.ts  b.ts  'c d'  src  src/x.ts  *.ts  {a,b}.ts  app/[slug]/page.tsx  $PWD/a.ts  "$PWD"  ~  ?.ts  [ab].ts  src/*  nothing
  -  /dev/null  ''  -n  --  1  x=1  {  }`);
const OPERATORS = ["; ", " && ", " || ", " | ", " & ", "\n", " |& ", ";", "&&"];

/** Options and operands that a command is tried with; the first ones are harmless, most others are
 * not. */
const COMMANDS: Record<string, string[]> = {
  ls: ["-la", "-R", "--color=auto"],
  cat: ["-n", "-A"],
  echo: ["-e '\\x41'", "-n", "hello"],
  head: ["-n 1", "-1"],
  wc: ["-l", "--files0-from=a.ts"],
  pwd: ["-P"],
  true: [],
  ":": [],
  grep: ["-n x", "-e x", "-r x .", "-rn hello src", "-f a.ts"],
  awk: ["1 a.ts", "'/h/{print NR\": \"$1}' a.ts", "'{print > \"pwned\"}' a.ts",
    "'BEGIN{system(\"touch pwned\")}'", '\'/"/{print > "pwned"}/"/\' a.ts',
    `'BEGIN{x = 1system("touch pwned"); y = length /}1/; print "x" > "pwned"; y = length /[{]1/}'`],
  cut: ["-c1", "-d: -f1"],
  sort: words(`-r  -u  -o pwned  -opwned  --ou pwned  -T .  --compress-program=./canary -S1b`),
  uniq: ["-c", "a.ts pwned", "-c a.ts -"],
  find: [". -name x", ". -exec echo {} \\;", ". -exec ./canary {} \\;", ". -delete",
    ". -fprint pwned"],
  test: ["-f a.ts", "-v 'a[$(touch pwned)]'", "1 -eq 1", "x -eq 'a[$(touch pwned)]'",
    "-t 'a[$(>pwned)]'"],
  "[": ["-f a.ts ]", "-v 'a[$(touch pwned)]' ]", "1 -eq 'a[$(>pwned)]' ]",
    "-n x -a -v 'a[$(>pwned)]' ]"],
  printf: ["'%s\\n' a", "-v x y", "-v 'a[$(touch pwned)]' y", "%d 'a[$(>pwned)]'",
    "'%(%s)T' 'a[$(>pwned)]'"],
  sed: words(`-n 1p a.ts  -n 1,2p a.ts  -i s/a/b/ a.ts  -n '1w pwned' a.ts  '1e touch pwned' a.ts
    's/h/x/;2q' a.ts  's/h/x/w pwned' a.ts  's|h|touch pwned|e' a.ts`),
  xargs: words(`echo  -n1 echo  ./canary  -I{} touch {}  -I{} sh -c {}  -a a.ts echo
    -I echo echo touch pwned`),
  env: words(
    `ls  CI=1 ls  -i ls  -S 'touch pwned'  BASH_ENV=evil.sh bash -c ls  ./canary  -S'ls -l'`,
  ),
  timeout: ["5 ls", "-s KILL 5 ls", "5 ./canary", "5 touch pwned", "-k 1 5 bash -c ls"],
  nice: ["ls", "-n 5 ls", "-5 ls", "./canary", "touch pwned"],
  time: ["ls", "-p ls", "./canary", "-o pwned ls"],
  command: ["ls", "-v ls", "-p ls", "./canary", "-pv ls", "eval '>pwned'"],
  builtin: ["echo a", "eval '>pwned'", "source evil.sh"],
  exec: ["ls", "-a x ls", ">pwned", "./canary", "3<a.ts"],
  eval: words(`ls  'ls -la'  '>pwned'  x=1  RANDOM='a[$(>pwned)]'  'ls; touch pwned'  -- ls`),
  bash: words(`-c ls  -c 'ls;ls'  -c x=1  -xc ls  -c ./canary  evil.sh  -c '. ./evil.sh'  -lc ls
    -ic ls`),
  sh: ["-c ls", "-c 'x=1'", "evil.sh", "-c '>pwned'", "-ec ls", "-c 'ls' x y"],
  git: words(`status  log --oneline  diff  branch  tag x  -c core.pager=./canary log
    log -p --output=pwned`),
  rg: ["-n hello", "hello src", "--pre ./canary hello", "--files", "--pre=./canary -z hello"],
  read: ["x < a.ts", "'a[$(touch pwned)]' <<< x", "-r x"],
  mapfile: ["x < a.ts", "-C 'touch pwned' -c 1 x < a.ts"],
  declare: ["x=1", "-i x='a[$(>pwned)]'", "-n x=PATH", "'a[$(>pwned)]=1'", "-a 'b=($(>pwned))'"],
  export: ["CI=1", "BASH_ENV=evil.sh", "PATH=.:$PATH"],
  unset: ["x", "'a[$(>pwned)]'", "-f ls"],
  let: ["x=1", "'a[$(>pwned)]'"],
  trap: ["- EXIT", "'touch pwned' EXIT", "./canary DEBUG", "'' INT"],
  shopt: ["-s expand_aliases", "-s nullglob", "-s lastpipe"],
  set: ["-e", "-x", "-- touch pwned", "-o posix", "-k"],
  enable: ["-f ./e.so ls", "-n echo"],
  hash: ["-p ./canary ls", "-r"],
  source: ["evil.sh", "./evil.sh", "a.ts"],
  cd: ["src", ".", "..", "-", "app/[slug]", "src/.."],
  coproc: ["ls", "x=1", "./canary"],
  wait: ["-n", "-p 'a[$(>pwned)]'"],
  compgen: ["-C ./canary", "-W '$(>pwned)'", "-F f"],
}; // biome-ignore format: a table
const PROGRAMS = Object.keys(COMMANDS);
/** Commands that are allowed most often, so that a line with them is really run. */
const HARMLESS = words(`
  ls  cat  echo  head  wc  pwd  true  :  grep  sed  awk  sort  uniq  cut  find  test  [  printf  git  rg  timeout  nice  env  xargs  bash
  eval  sh  command`);

const WRAPPERS = words("timeout 5  nice  env  command  exec  time  nohup  !  xargs  eval  builtin");

/** The first seven are harmless. */
const REDIRECTIONS = words(`
  2>/dev/null  >/dev/null  2>&1  <a.ts  &>/dev/null  >&2  3<a.ts  <&-  >pwned  >>a.ts  <>pwned  >|pwned  &>pwned  &>>pwned
  >&pwned  {x}>pwned  {x}<a.ts  {PATH}>/dev/null  2>pwned  <<<x  1<>pwned  > /dev/null  <&3  >&-  3>&1  <<< 'a[$(>pwned)]'
  > $x  < <(ls)  > >(tee pwned)  >/dev/./null  <'a.ts'  {a[$(touch pwned)]}<a.ts  >/dev/null/../../$PWD/pwned  >&1pwned
  2>&1>pwned  </dev/null`);

/** Pieces that are put anywhere into a line, so that its two readings may differ. */
const PIECES = [
  ...words(`
    '  "  \\  ;  &  |  (  )  {  }  #  $  \`  !  ~  *  [  ]  <  >  =  $(  \${  $((  ((  <<  $'  ''  ""  &&  ||  ;;  fi  esac
    1  -  é  $x  $'\\n'`),
  "\\\n",
  "\n",
  " #",
  " ",
  "\t",
  "[[ ",
  " ]]",
  "<<E\n",
  "\nE\n",
  "if ",
  "; do ",
  "; done",
  "; then ",
  "case ",
  " in ",
  "time ",
  "coproc ",
  "function ",
  "{ ",
  "; }",
  "x=1 ",
];

/** Makes lines from a seed. */
export function linesFrom(seed: number): () => string {
  const next = random(seed);
  const chance = (part: number) => next() < part;
  const pick = <T>(all: readonly T[]): T => all[Math.floor(next() * all.length)]!;
  const some = (most: number, make: () => string, between = " ") =>
    Array.from({ length: Math.floor(next() * (most + 1)) }, make).join(between);
  let depth = 0;
  const deeper = <T>(make: () => T, otherwise: () => T): T => {
    if (depth > 3) return otherwise();
    depth++;
    const made = make();
    depth--;
    return made;
  };
  const payload = () => pick(PAYLOADS);
  const inner = () => deeper(() => (chance(0.5) ? payload() : simple()), payload);

  const spicy: (() => string)[] = [
    () => `$(${inner()})`,
    () => `\`${inner()}\``,
    () => `"$(${inner()})"`,
    () => `'a[$(${payload()})]'`,
    () => `<(${inner()})`,
    () => `>(${inner()})`,
    () => `$((${pick(["1+1", "x", "x=1", `a[$(${payload()})]`, "RANDOM", "x++"])}))`,
    () => `$[${pick(["1", `a[$(${payload()})]`])}]`,
    () => `\${${pick(NAMES)}${pick([":-", ":=", "=", ":+", ":?", "-", "+"])}${word()}}`,
    () =>
      `\${${pick(NAMES)}${pick(["#", "##", "%", "%%", "/", "//", "/#", "^", "^^", ",", ",,"])}${pick(["a", "*", word()])}}`,
    () => `\${${pick(NAMES)}@${pick([..."QEPAKaUuL"])}}`,
    () => `\${!${pick(NAMES)}${pick(["", "*", "@"])}}`,
    () => `\${${pick(NAMES)}:${pick(["0:1", "1", `a[$(${payload()})]`, " -1"])}}`,
    () => `\${#${pick(NAMES)}}`,
    () => `\${a[${pick(["0", "@", "*", `$(${payload()})`, "x", "x=1"])}]}`,
    () => `$${pick(["x", "1", "@", "*", "?", "$", "!", "-", "_", "0", "#", "RANDOM", "PATH"])}`,
    () => `$'${pick(["a\\n", "\\x72m", "\\'", "a", "\\u0041", "\\c'"])}'`,
    () =>
      `${pick(["a", "", "~"])}{${pick(["1..3", "a,b", "a,{b,c}", "a..c", ","])}}${pick(["", ".ts"])}`,
    () =>
      pick([
        "~root",
        "~+",
        "~/a",
        "x=~",
        "!!",
        "!$",
        "@(a|b)",
        "+(a)",
        "**",
        "a\\\nb",
        "\\a",
        '"a\\\nb"',
        "#x",
        "a#b",
      ]),
  ];
  const word = (): string =>
    chance(0.9)
      ? pick(FILES)
      : deeper(
          () => pick(spicy)(),
          () => "x",
        );
  const redirection = () => (chance(0.55) ? pick(REDIRECTIONS.slice(0, 7)) : pick(REDIRECTIONS));
  const value = () =>
    pick([
      "1",
      "'a b'",
      "",
      "$HOME",
      "evil.sh",
      ".:$PATH",
      "'a[$(>pwned)]'",
      "$(>pwned)",
      "(1 2)",
      "~",
      word(),
    ]);
  const attack = () =>
    pick([
      "'a[$(>pwned)]'",
      "'a[$(./canary)]'",
      "evil.sh",
      "./e.so",
      ".:$PATH",
      "'$(>pwned)'",
      "'`>pwned`'",
      ".",
    ]);
  const setting = (): string => {
    if (chance(0.25)) return `${pick(NAMES)}=${attack()}`;
    const name = chance(0.5) ? pick(NAMES.slice(0, 5)) : pick(NAMES);
    const index = chance(0.06) ? pick(["[0]", "[$(>pwned)]", "['$(>pwned)']", "[x]"]) : "";
    return `${name}${index}${chance(0.07) ? "+" : ""}=${chance(0.6) ? pick(["1", "x", "a.ts", "''"]) : value()}`;
  };
  const call = (): string => {
    const name = chance(0.8) ? pick(HARMLESS) : pick(PROGRAMS);
    const all = COMMANDS[name]!;
    const told = all.length && chance(0.75) ? ` ${chance(0.5) ? all[0] : pick(all)}` : "";
    const shown = chance(0.04)
      ? pick([
          `\\${name}`,
          `"${name}"`,
          `'${name}'`,
          `/usr/bin/${name}`,
          `/bin/${name}`,
          `./${name}`,
        ])
      : name;
    const words = chance(0.45) ? ` ${some(2, word)}` : "";
    return `${shown}${told}${words}`;
  };
  const simple = (): string => {
    const before = chance(0.08) ? `${setting()} ` : "";
    const wrapped = chance(0.1) ? `${pick(WRAPPERS)} ` : "";
    const after = chance(0.15) ? ` ${redirection()}` : "";
    return chance(0.1)
      ? setting()
      : `${chance(0.03) ? `${redirection()} ` : ""}${before}${wrapped}${call()}${after}`;
  };
  const document = (): string => {
    const end = pick(["E", "'E'", "\\E", '"E"', "-E"]);
    const text = pick([
      "x",
      "$x",
      `$(${payload()})`,
      "`ls`",
      `\${x:=$(${payload()})}`,
      "\\$(ls)",
      "\tE",
    ]);
    return `${pick(["cat", "bash", "read x", ":", ""])} <<${end}${pick(["", " | cat", "; ls"])}\n${text}\nE\n`;
  };
  const body = (): string => deeper(() => (chance(0.75) ? simple() : statement()), simple);
  const compound: (() => string)[] = [
    () => `{ ${body()}; }`,
    () => `(${body()})`,
    () => `if ${body()}; then ${body()}; else ${body()}; fi`,
    () => `while ${pick(["false", "! true", "! :"])}; do ${body()}; done`,
    () =>
      `for ${chance(0.6) ? pick(["i", "f", "x"]) : pick(NAMES)} in ${chance(0.3) ? attack() : some(3, word)}; do ${body()}; done`,
    () => `for ((i = ${pick(["0", `a[$(${payload()})]`])}; i < 1; i++)); do ${body()}; done`,
    () => `case ${word()} in ${pick(["a", "*", word()])}) ${body()};; esac`,
    () =>
      `[[ ${pick(["-f a.ts", "-v x", `-v 'a[$(${payload()})]'`, `'a[$(${payload()})]' -eq 1`, "a == b", `x =~ $(${payload()})`, `${word()} < b`])} ]]`,
    () =>
      `(( ${pick(["1", "x=1", `a[$(${payload()})]`, "RANDOM", "x++ < 1", `'a[$(${payload()})]'`])} ))`,
    () =>
      `${pick(["f", "ls", "cat", "echo"])}() { ${body()}; }; ${pick(["f", "ls", "cat", "echo"])}`,
    () => `coproc ${pick(["", "x "])}${pick([simple(), `{ ${body()}; }`])}`,
    document,
    () => `bash -c '${body().replaceAll("'", pick(["'\\''", '"', ""]))}'`,
    () => `eval "${body().replaceAll(/["$`\\]/g, "\\$&")}"`,
    () => `! ${body()}`,
  ];
  const statement = (): string =>
    deeper(() => `${pick(compound)()}${chance(0.08) ? ` ${redirection()}` : ""}`, simple);
  const part = () => (chance(0.78) ? simple() : statement());
  const whole = (): string => {
    let made = part();
    while (chance(0.3)) made += pick(OPERATORS) + part();
    if (chance(0.04)) made += pick([" # x", " #", "\n# x\n", " &", ";", " \\\n", "\n"]);
    return made;
  };
  const changed = (line: string): string => {
    const at = Math.floor(next() * (line.length + 1));
    if (chance(0.6)) return line.slice(0, at) + pick(PIECES) + line.slice(at);
    const to = at + 1 + Math.floor(next() * 4);
    return chance(0.6) ? line.slice(0, at) + line.slice(to) : line.slice(0, to) + line.slice(at);
  };
  return () => {
    let made = whole();
    while (chance(0.22)) made = changed(made);
    return made;
  };
}
