// The system calls that a sandboxed command does not get: those that bypass the sandbox,
// and kernel features that few programs need and many escapes used. A program for the kernel's
// filter, assembled by hand.

const [LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN] = [0x20, 0x15, 0x35, 0x45, 0x06]; // classic BPF
const [CALL_NUMBER, ARCHITECTURE] = [0, 4]; // offsets in struct seccomp_data
// the lower half, which is all that the kernel uses of these
const argument = (i: number): number => 16 + 8 * i;
const ALLOW = 0x7fff0000;
const failWith = (errorNumber: number): number => 0x00050000 | errorNumber;
const [EPERM, ENOSYS, EAFNOSUPPORT, EOPNOTSUPP] = [1, 38, 97, 95];

/**
 * NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET: a namespace of its own is a way to
 * capabilities.
 */
const NAMESPACES = 0x7e020000;
const NEWTIME = 0x80; // for unshare; for clone it is part of the signal
const TERMINAL = [0x5412, 0x541c]; // TIOCSTI types into a terminal, TIOCLINUX pastes
// UNIX, INET, INET6, NETLINK: not VSOCK, which no namespace contains, ALG, and others
const FAMILIES = [1, 2, 10, 16];
// 32 bits, old names, fixed addresses; querying
const PERSONALITIES = [0, 8, 0x20000, 0x20008, 0x40000, 0xffffffff];

/**
 * System calls, with their numbers on x64 and on arm64; those since Linux 5.1 have the same on all
 * machines.
 */
const SYSTEM_CALLS = `
  ioctl 16 29, socket 41 198, clone 56 220, syslog 103 116, personality 135 92, pivot_root 155 41,
  chroot 161 51, acct 163 89, mount 165 40, umount2 166 39, swapon 167 224, swapoff 168 225,
  reboot 169 142, iopl 172 -, ioperm 173 -, init_module 175 105, delete_module 176 106,
  quotactl 179 60, lookup_dcookie 212 18, kexec_load 246 104, add_key 248 217, request_key 249 218,
  keyctl 250 219, unshare 272 97, perf_event_open 298 241, fanotify_init 300 262,
  name_to_handle_at 303 264, open_by_handle_at 304 265, setns 308 268, finit_module 313 273,
  kexec_file_load 320 294, bpf 321 280, userfaultfd 323 282, io_uring_setup 425 425,
  io_uring_enter 426 426, io_uring_register 427 427, open_tree 428 428, move_mount 429 429,
  fsopen 430 430, fsconfig 431 431, fsmount 432 432, fspick 433 433, clone3 435 435,
  mount_setattr 442 442, quotactl_fd 443 443, open_tree_attr 467 467`;
const MACHINES = ["x64", "arm64"];
const AUDIT_VALUES = [0xc000003e, 0xc00000b7];

/**
 * Allowed depending on their arguments. Tracing is not restricted: everything that can be traced is
 * in the sandbox as well.
 */
const DEPENDS_ON_ARGUMENTS = ["ioctl", "socket", "clone", "unshare", "personality"];
/** These fail as on a kernel without them: callers have a fallback. */
const NOT_IMPLEMENTED = ["clone3", "io_uring_setup", "io_uring_enter", "io_uring_register"];

type Instruction = [code: number, k: number, yes?: number, no?: number];

/** For `--seccomp`; undefined on a machine whose system calls are not listed here. */
export function seccompFilter({
  machine = process.arch as string,
  unix = true,
} = {}): Buffer | undefined {
  const machineColumn = MACHINES.indexOf(machine);
  if (machineColumn < 0) return;
  const callRows = SYSTEM_CALLS.split(",").map((callRow) => callRow.trim().split(" "));
  const callNumbers = callRows.map(([callName = "", ...numbers]): [string, number] => [
    callName,
    Number(numbers[machineColumn]),
  ]);
  const numbers = Object.fromEntries(callNumbers.filter(([, callNumber]) => callNumber >= 0));
  const plainCalls = Object.entries(numbers).filter(
    ([callName]) => !DEPENDS_ON_ARGUMENTS.includes(callName),
  );
  const families = unix ? FAMILIES : FAMILIES.filter((family) => family !== 1);
  return compile([
    [LOAD, ARCHITECTURE],
    [EQUAL, AUDIT_VALUES[machineColumn]!, 1, 0],
    [RETURN, failWith(ENOSYS)], // calls of another machine: 32 bits
    [LOAD, CALL_NUMBER],
    ...(machine === "x64"
      ? [[AT_LEAST, 0x40000000, 0, 1] as Instruction, [RETURN, failWith(ENOSYS)] as Instruction]
      : []),
    ...plainCalls.flatMap(([callName, callNumber]): Instruction[] => [
      [EQUAL, callNumber, 0, 1],
      [RETURN, failWith(errorOf(callName))],
    ]),
    ...callRule(numbers.clone!, 0, [[ANY_BIT, NAMESPACES, 0, 1]], failWith(EPERM), ALLOW),
    ...callRule(
      numbers.unshare!,
      0,
      [[ANY_BIT, NAMESPACES | NEWTIME, 0, 1]],
      failWith(EPERM),
      ALLOW,
    ),
    ...callRule(numbers.ioctl!, 1, buildTests(TERMINAL), failWith(EPERM), ALLOW),
    ...callRule(numbers.socket!, 0, buildTests(families), ALLOW, failWith(EAFNOSUPPORT)),
    ...callRule(numbers.personality!, 0, buildTests(PERSONALITIES), ALLOW, failWith(EPERM)),
    [RETURN, ALLOW],
  ]);
}

function errorOf(callName: string): number {
  if (NOT_IMPLEMENTED.includes(callName)) return ENOSYS;
  return callName === "name_to_handle_at" ? EOPNOTSUPP : EPERM;
}

/**
 * If an argument meets one of the tests, the first, otherwise the second. Other calls skip all of
 * this.
 */
function callRule(
  callNumber: number,
  i: number,
  argumentTests: Instruction[],
  metAction: number,
  unmetAction: number,
): Instruction[] {
  return [
    [EQUAL, callNumber, 0, argumentTests.length + 3],
    [LOAD, argument(i)],
    ...argumentTests,
    [RETURN, metAction],
    [RETURN, unmetAction],
  ];
}

/** If the last test is not met, it jumps past the first RETURN. */
function buildTests(values: number[]): Instruction[] {
  return values.map((value, i) => [
    EQUAL,
    value,
    values.length - 1 - i,
    i === values.length - 1 ? 1 : 0,
  ]);
}

function compile(instructions: Instruction[]): Buffer {
  const programBytes = Buffer.alloc(instructions.length * 8);
  instructions.forEach(([operation, operand, jumpIfMet = 0, jumpIfUnmet = 0], i) => {
    programBytes.writeUInt16LE(operation, i * 8);
    programBytes.writeUInt8(jumpIfMet, i * 8 + 2);
    programBytes.writeUInt8(jumpIfUnmet, i * 8 + 3);
    programBytes.writeUInt32LE(operand >>> 0, i * 8 + 4);
  });
  return programBytes;
}
