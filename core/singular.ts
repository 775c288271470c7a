/** Singular of an English noun, by its ending: `singular('categories')` is `category`. */
export function singular(noun: string): string {
  if (noun.endsWith('ies')) return `${noun.slice(0, -3)}y`
  return noun.replace(/(?<=ss|x|ch|sh)es$|(?<![sui])s$/, '')
}
