// Ends an endless loop in a plugin that is being loaded. The looping thread cannot do that itself, but another one can.

const IDLE = 2_000; // ms until it is stopped: another plugin may be loaded soon

interface Watchdog {
  watch(): Watch;
  beat(): void;
}
interface Watch {
  bitten: AbortSignal; // aborts once this thread was stuck for that long, and what blocked it was ended
  rest(): void; // nothing to watch for now
}

const awake = new Map<number, Watchdog>(); // by their ms. All instances share this thread, and starting another takes long

/** Watches this thread until all who asked for it let it rest. */
export function watchFor(ms: number): Watch {
  awake.get(ms)?.beat(); // one that has bitten is gone then
  const dog = awake.get(ms) ?? watchdog(ms);
  awake.set(ms, dog);
  return dog.watch();
}

function watchdog(ms: number): Watchdog {
  const { Worker } = process.getBuiltinModule("node:worker_threads");
  const bitten = new AbortController();
  const beats = new Int32Array(new SharedArrayBuffer(12)); // how often this thread reported; how often it was ended; whether it rests
  const worker = new Worker(`(${watch})()`, { eval: true, workerData: { beats, ms }, execArgv: [], env: {} });
  worker.on("error", () => {}).unref();
  const beating = setInterval(beat, ms / 20);
  let watches = 0;
  let idle: NodeJS.Timeout | undefined;
  return { beat, watch: begin };

  function begin(): Watch {
    watches++;
    clearTimeout(idle);
    Atomics.store(beats, 2, 0);
    beating.ref();
    return { bitten: bitten.signal, rest };
  }
  function rest(): void {
    if (--watches || bitten.signal.aborted) return;
    Atomics.store(beats, 2, 1);
    beating.unref();
    idle = setTimeout(end, IDLE).unref();
  }
  function beat(): void {
    Atomics.add(beats, 0, 1);
    Atomics.notify(beats, 0);
    if (!Atomics.load(beats, 1)) return;
    bitten.abort();
    end();
  }
  function end(): void {
    clearTimeout(idle);
    clearInterval(beating);
    awake.delete(ms);
    void worker.terminate();
  }
}

/** Runs in the other thread, from its source text. It must not wait for a late report: it would end whatever runs next. */
function watch(): void {
  const { beats, ms } = process.getBuiltinModule("node:worker_threads").workerData;
  const { Session } = process.getBuiltinModule("node:inspector");
  for (;;) {
    const heard = Atomics.load(beats, 0);
    if (Atomics.wait(beats, 0, heard, ms) !== "timed-out") continue;
    if (Atomics.load(beats, 2) || Atomics.load(beats, 0) !== heard) continue;
    const session = new Session();
    session.connectToMainThread();
    Atomics.add(beats, 1, 1);
    session.post("Runtime.terminateExecution");
    session.disconnect();
    return;
  }
}
