/** Languages whose names of countries and languages are read; as `translations.txt` has them. */
const LOCALES = 'de fr es it pt nl pl ru tr sv da nb fi cs hu ro el uk ar hi id vi ja ko zh'.split(
  ' ',
)

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'.split('')
const CODES = ALPHABET.flatMap((first) => ALPHABET.map((second) => first + second))

/** A name in another language and in English. */
export interface TranslatedName {
  readonly name: string
  readonly english: string
}

/** Lists the names of countries and languages in other languages, as Unicode has them. */
export function* countryAndLanguageNames(): Generator<readonly TranslatedName[]> {
  for (const type of ['region', 'language'] as const) {
    const english = namesIn('en', type, CODES)
    for (const locale of LOCALES) {
      yield [...namesIn(locale, type, [...english.keys()])]
        .map(([code, name]) => ({ name, english: english.get(code)! }))
        .filter((each) => each.name !== each.english)
    }
  }
}

function namesIn(locale: string, type: 'region' | 'language', codes: readonly string[]) {
  const names = new Intl.DisplayNames([locale], { type, fallback: 'none' })
  return new Map(
    codes.flatMap((code) => {
      const name = names.of(code)
      return name === undefined ? [] : [[code, name] as const]
    }),
  )
}
