// Ends an endless loop of a plugin that is being loaded. The thread that it holds cannot do that itself; another one can.

const IDLE = 2_000; // ms, after which it is let go: the next plugin may come soon

export interface Watchdog {
  watch(): AbortSignal; // aborts once this thread was stuck for so long; what held it was ended then
  rest(): void; // nothing is to be watched for now
  end(): Promise<unknown>;
}

export function watchdog(ms: number, gone: () => void): Watchdog {
  const { Worker } = process.getBuiltinModule("node:worker_threads");
  const bitten = new AbortController();
  const beats = new Int32Array(new SharedArrayBuffer(12)); // how often this thread was heard of; how often it was ended; whether it rests
  const worker = new Worker(`(${watch})()`, { eval: true, workerData: { beats, ms }, execArgv: [], env: {} });
  worker.on("error", () => {}).unref();
  const beating = setInterval(beat, ms / 20);
  let idle: NodeJS.Timeout | undefined;
  return {
    watch() {
      clearTimeout(idle);
      beat();
      Atomics.store(beats, 2, 0);
      beating.ref();
      return bitten.signal;
    },
    rest() {
      Atomics.store(beats, 2, 1);
      beating.unref();
      if (bitten.signal.aborted) void end();
      else idle = setTimeout(end, IDLE).unref();
    },
    end,
  };

  function beat(): void {
    Atomics.add(beats, 0, 1);
    Atomics.notify(beats, 0);
    if (Atomics.load(beats, 1)) bitten.abort();
  }
  function end(): Promise<unknown> {
    clearTimeout(idle);
    clearInterval(beating);
    gone();
    return worker.terminate();
  }
}

/** In the other thread, as text: nothing of this file is there. Waiting for an answer that is late would end what comes after it. */
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
