// Calls that begin together, as those of one round do, share what is the same for all of them.

export type Once = <T>(key: string, begin: () => Promise<T>) => Promise<T>;

/**
 * Callers that use the same key in the same tick share one promise. A later caller starts again,
 * since files may have changed.
 */
export function sharing(): Once {
  const begun = new Map<string, Promise<any>>();
  return (key, begin) => {
    const running = begun.get(key);
    if (running) return running.catch(begin); // the call that began it may have been stopped
    const started = begin();
    begun.set(key, started);
    setImmediate(() => begun.delete(key));
    return started;
  };
}
