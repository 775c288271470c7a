/**
 * The same question asked by several at the same time, asked once: whoever comes while it is under
 * way gets that answer, or that error. Nothing is kept once it is answered.
 */
export function inFlight<Key, Answer>(
  ask: (key: Key) => Promise<Answer>,
): (key: Key) => Promise<Answer> {
  const asked = new Map<Key, Promise<Answer>>()
  return (key) => {
    const known = asked.get(key)
    if (known) return known
    const answer = ask(key).finally(() => asked.delete(key))
    asked.set(key, answer)
    return answer
  }
}
