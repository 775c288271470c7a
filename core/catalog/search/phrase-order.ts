/** Words that complete a verb, also behind its object: `make the image smaller`. */
const COMPLEMENTS: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries({
    make: new Set(
      (
        'small smaller short shorter big bigger large larger long longer loud louder quiet ' +
        'quieter bright brighter dark darker sharp sharper clear clearer simple simpler easy ' +
        'easier formal private public anonymous readable friendlier'
      ).split(' '),
    ),
    turn: new Set(['into', 'up', 'down']),
    convert: new Set(['into']),
    find: new Set(['out']),
    figure: new Set(['out']),
    work: new Set(['out']),
    look: new Set(['up']),
    write: new Set(['down']),
    put: new Set(['aside', 'off']),
    add: new Set(['up']),
    read: new Set(['aloud', 'out']),
  }),
)
/** Words between a verb and its complement. */
const DISTANCE_MAX = 5

/**
 * Moves the complement of each verb next to it, because phrases are found by adjacent words:
 * `make a text shorter` becomes `make shorter a text`. Pure.
 */
export function joinVerbs<Word extends { readonly word: string }>(words: readonly Word[]): Word[] {
  const joined = [...words]
  for (let at = 0; at < joined.length; at++) {
    const complements = COMPLEMENTS.get(joined[at]!.word)
    if (!complements) continue
    const from = joined.findIndex(({ word }, i) => i > at && complements.has(word))
    if (from > at + 1 && from <= at + 1 + DISTANCE_MAX)
      joined.splice(at + 1, 0, ...joined.splice(from, 1))
  }
  return joined
}
