// Calls that begin together, as those of one round do, share what is the same for all of them.

export type Once = <T>(sharedKey: string, beginTask: () => Promise<T>) => Promise<T>;

/**
 * Callers that use the same key in the same tick share one promise. A later caller starts again,
 * since files may have changed.
 */
export function sharing(): Once {
  const begunTasks = new Map<string, Promise<any>>();
  return (sharedKey, beginTask) => {
    const running = begunTasks.get(sharedKey);
    if (running) return running.catch(beginTask); // the call that began it may have been stopped
    const started = beginTask();
    begunTasks.set(sharedKey, started);
    setImmediate(() => begunTasks.delete(sharedKey));
    return started;
  };
}
