/** Beginnings of a request, before the subject of the search. */
const OPENINGS = [
  'i need',
  'i want to know',
  'i want',
  'i would like',
  'i d like',
  'i m looking for',
  'i am looking for',
  'looking for',
  'find me',
  'find out',
  'tell me',
  'let me know',
  'give me',
  'show me',
  'get me',
  'help me',
  'is there',
  'are there',
  'do you have',
  'can you',
  'could you',
  'how do i',
  'how can i',
].map((phrase) => phrase.split(' '))

const ARTICLES = new Set(['a', 'an', 'the', 'any', 'some'])
const NOUNS = new Set(
  'api apis service services endpoint endpoints tool tools app provider'.split(' '),
)
const CONNECTIVES = new Set(['that', 'which', 'to', 'for'])
const AUXILIARIES = new Set(['can', 'could', 'will', 'lets'])

/**
 * Removes the phrase with which a request begins: `I need an API that`, `find me`, `a service for`.
 * A query of nothing else stays as it is. Pure.
 * @param words lower-case words of the query
 */
export function withoutRequestPhrase(words: readonly string[]): readonly string[] {
  const start = words[0] === 'please' ? 1 : 0
  const opening = OPENINGS.find((phrase) => phrase.every((word, i) => words[start + i] === word))
  const rest = withoutGenericNoun(words.slice(start + (opening?.length ?? 0)))
  return rest.length > 0 ? rest : words
}

/** Removes `an API that can`; a noun without a connective belongs to the subject: `API key`. */
function withoutGenericNoun(words: readonly string[]): readonly string[] {
  const noun = ARTICLES.has(words[0] ?? '') ? 1 : 0
  if (!NOUNS.has(words[noun] ?? '') || !CONNECTIVES.has(words[noun + 1] ?? '')) return words
  return words.slice(noun + (AUXILIARIES.has(words[noun + 2] ?? '') ? 3 : 2))
}
