import { readFileSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { wordVectors } from './meaning/word-vectors.ts'
import { tokenize } from './tokenize.ts'
import { countryAndLanguageNames } from './vocabulary/country-names.ts'

/** Words of a query in English. */
export interface TranslatedWords {
  readonly words: readonly string[]
  /** Words as written in the query, if they were translated. */
  readonly original?: string
  /** Meaning in another language, if the word is English too. */
  readonly meaning?: readonly string[]
  /** True for a word of a query in another language that is in no vocabulary. */
  readonly isUntranslated?: true
}

/** Scripts whose words are not separated by spaces, or carry particles. */
const UNSPACED = /[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/
const UNSPACED_RUN = /[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+/g

/** Articles, prepositions, pronouns and polite words of other languages. */
const FUNCTION_WORDS = new Set(
  tokenize(
    'a de del la las el los un una uno unos unas y e o u en al con para por que como mi tu ' +
      'su se es le les des du une et ou au aux dans pour avec sur par qui est je me mon ma ' +
      'mes ton sa ses der das dem den des ein eine einen einem einer eines und oder im zum ' +
      'zur von vom mit für auf aus bei nach ist wie ich mich mir mein meine meinen il lo gli ' +
      'i uno della dello delle dei degli di da dal dalla nel nella per tra fra che sono mio ' +
      'mia os as um uma do dos das no na nos nas ao em com sem meu minha het een van voor met ' +
      'op te en of mijn na z do w we i u dla od po przez jak moj w na s po dlya iz и в во на ' +
      'с со из по для от до к ко о об как что это мой моя мне ve ile bir bu icin ben och att ' +
      'det den ett till av och for en et og til dan untuk dari ke di yang va cua cho tu mot ' +
      'quiero necesito puedes je veux besoin ich brauche voglio ho bisogno preciso quero хочу ' +
      'нужен нужно api servicio dienst ze naar mit bir için من إلى الى في على عن مع هذا هذه ' +
      'का की के को में से पर और करें करना करो लिए',
  ),
)

/** Function words of English that other languages have too. */
const ENGLISH_FUNCTION_WORDS = new Set(
  'a i me my do as is no of on in an at so am was to'.split(' '),
)

/** Shared beginning of two forms of a word, by the length of the longer one. */
const INFLECTION = { prefixMin: 4, share: 0.75, lengthMin: 5 } as const
/** Shortest part of a compound. */
const PART_MIN = 4
/** Letters that join the parts of a German compound. */
const LINKS = ['', 's', 'n', 'en', 'es']
/** Letters that mark a form or an alphabet which English does not have. */
const FOREIGN_LETTER =
  /[\u00c0-\u024f\u0386-\u0481\u048a-\u052f\u0620-\u064a\u0904-\u0939\u1e00-\u1fff]/

interface Translations {
  /** English words by plain foreign words. */
  readonly phrases: ReadonlyMap<string, readonly string[]>
  /** The same for phrases, by their words without endings. */
  readonly inflected: ReadonlyMap<string, readonly string[]>
  /** Foreign words by their first letters. */
  readonly byPrefix: ReadonlyMap<string, readonly string[]>
  /** English words of unspaced scripts. */
  readonly unspaced: ReadonlyMap<string, string>
  readonly unspacedMax: number
  readonly phraseMax: number
}

const plain = (text: string): string => tokenize(text).map(withoutArticle).join(' ')

/** Arabic articles, some with the conjunction or preposition that is written with them. */
const ARTICLES = ['\u0648\u0627\u0644', '\u0628\u0627\u0644', '\u0627\u0644', '\u0644\u0644']

/** Endings of number and gender; a word keeps four letters. */
const ENDINGS = ['as', 'es', 'is', 'os', 'a', 'e', 'i', 'o', 'n', 's', 'x']
const STEM_MIN = 4

/** Removes the ending of each longer word: `numero de telefono` and `numeros de telefono`. */
const withoutEndings = (phrase: string): string =>
  phrase
    .split(' ')
    .map((word) => {
      const ending = ENDINGS.find((each) => word.endsWith(each)) ?? ''
      const stem = word.slice(0, word.length - ending.length)
      return stem.length < STEM_MIN ? word : stem
    })
    .join(' ')

const withoutArticle = (word: string): string => {
  const article = ARTICLES.find((each) => word.startsWith(each) && word.length > each.length + 1)
  return article === undefined ? word : word.slice(article.length)
}

/** A vowel sign ends a word of the tokenizer, which leaves single letters. */
const isFunctionWord = (word: string): boolean =>
  FUNCTION_WORDS.has(word) || (word.length === 1 && FOREIGN_LETTER.test(word))

/** Lines of the vocabulary between two steps. */
const LINES_PER_STEP = 100

/** Reads the vocabulary in steps, between which other work may run. */
function* readTranslations(): Generator<void, Translations> {
  const file = readFileSync(new URL('./vocabulary/translations.txt', import.meta.url), 'utf8')
  const phrases = new Map<string, readonly string[]>()
  const unspaced = new Map<string, string>()
  const add = (text: string, english: string): void => {
    if (UNSPACED.test(text)) {
      const key = text.normalize('NFKC').toLowerCase().replaceAll(' ', '')
      if (!unspaced.has(key)) unspaced.set(key, english)
      return
    }
    const key = plain(text)
    if (!phrases.has(key)) phrases.set(key, tokenize(english))
  }
  for (const [n, line] of file.trim().split('\n').entries()) {
    const [english, foreign] = line.split(' = ') as [string, string]
    for (const text of foreign.split(', ')) add(text, english)
    if (n % LINES_PER_STEP === 0) yield
  }
  for (const names of countryAndLanguageNames()) {
    for (const { name, english } of names) add(name, english)
    yield
  }
  const single = [...phrases.keys()].filter(
    (key) => !key.includes(' ') && key.length >= INFLECTION.lengthMin,
  )
  const several = [...phrases].filter(([key]) => key.includes(' '))
  return {
    phrases,
    inflected: new Map(several.map(([key, english]) => [withoutEndings(key), english])),
    byPrefix: Map.groupBy(single, (key) => key.slice(0, INFLECTION.prefixMin)),
    unspaced,
    unspacedMax: Math.max(...[...unspaced.keys()].map((key) => key.length)),
    phraseMax: Math.max(...[...phrases.keys()].map((key) => key.split(' ').length)),
  }
}

let loaded: Translations | undefined
function translations(): Translations {
  if (loaded) return loaded
  const steps = readTranslations()
  let step = steps.next()
  while (!step.done) step = steps.next()
  return (loaded = step.value)
}

/** Loads the vocabulary, and lets other work run in between. */
export async function loadTranslations(): Promise<void> {
  if (loaded) return
  const steps = readTranslations()
  let step = steps.next()
  for (; !step.done; step = steps.next()) await setImmediate()
  loaded ??= step.value
}

/**
 * Reads a query in English: words of other languages are translated by the vocabulary, with their
 * inflections and compounds, and function words are removed. A query in English stays as it is,
 * even if some of its words exist in another language.
 */
export function translateQuery(text: string): readonly TranslatedWords[] {
  const spaced = text.normalize('NFKC').replace(UNSPACED_RUN, translateRun)
  const words = tokenize(spaced)
  const units = matchPhrases(words)
  const isForeign = units.some(({ isEvidence }) => isEvidence) || hasForeignForm(text, words, units)
  if (!isForeign) return units.map(({ original, english }) => keepWord(original, english, words))
  return units
    .filter(({ original, english }) => english || !isFunctionWord(original))
    .map(({ original, english }) => {
      if (english) return { words: english, original }
      return {
        words: [original],
        ...(isEnglish(original) ? {} : { isUntranslated: true as const }),
      }
    })
}

/** A word alone may be of either language. */
const keepWord = (
  original: string,
  english: readonly string[] | undefined,
  { length }: readonly string[],
): TranslatedWords => ({
  words: original.split(' '),
  ...(english && length === 1 ? { meaning: english } : {}),
})

interface Unit {
  readonly original: string
  readonly english: readonly string[] | undefined
  /** True if no English query would contain it. */
  readonly isEvidence: boolean
}

/**
 * True if a word of the vocabulary stands beside function words or letters of other languages, or
 * if all words are of the vocabulary and rare in English, such as `noticias hoy`.
 */
function hasForeignForm(text: string, words: readonly string[], units: readonly Unit[]): boolean {
  const known = units.filter(({ english }) => english)
  if (known.length === 0) return false
  if (FOREIGN_LETTER.test(text)) return true
  if (words.some((word) => FUNCTION_WORDS.has(word) && !isEnglish(word))) return true
  if (words.some((word) => ENGLISH_ONLY.has(word))) return false
  const isRare = ({ original }: Unit): boolean => rankOf(original) > RARE_RANK
  return known.some(isRare) && units.every((unit) => (unit.english ? isRare(unit) : isShared(unit)))
}

/** English rank from which a word that another language has is likely to be of that language. */
const RARE_RANK = 2_500

/** Function words that no other language has. */
const ENGLISH_ONLY = new Set(
  'the of for with from and by to is are how what my that this it'.split(' '),
)

const rankOf = (word: string): number => wordVectors().rankOf(word) ?? Number.MAX_SAFE_INTEGER

/** True for a function word of another language that is English too, such as `de`. */
const isShared = ({ original }: Unit): boolean =>
  FUNCTION_WORDS.has(original) && !ENGLISH_FUNCTION_WORDS.has(original)

const isEnglish = (word: string): boolean =>
  ENGLISH_FUNCTION_WORDS.has(word) || wordVectors().rankOf(word) !== undefined

/** Splits words into the longest phrases that can be translated, and single words. */
function matchPhrases(words: readonly string[]): Unit[] {
  const { phrases, inflected, phraseMax } = translations()
  const translationOf = (key: string) => phrases.get(key) ?? inflected.get(withoutEndings(key))
  const keys = words.map(withoutArticle)
  const units: Unit[] = []
  for (let at = 0; at < words.length; ) {
    let length = Math.min(phraseMax, words.length - at)
    while (length > 1 && !translationOf(keys.slice(at, at + length).join(' '))) length--
    const original = words.slice(at, at + length).join(' ')
    const key = keys.slice(at, at + length).join(' ')
    const isKnown = length === 1 && isEnglish(original)
    const english = translationOf(key) ?? (isKnown ? undefined : translateForm(key))
    units.push({ original, english, isEvidence: english !== undefined && !isKnown })
    at += length
  }
  return units
}

/** Translates another form of a known word, or a compound of two known words. */
function translateForm(word: string): readonly string[] | undefined {
  const { phrases } = translations()
  const form = findForm(word)
  if (form !== undefined) return phrases.get(form)
  for (let end = word.length - PART_MIN; end >= PART_MIN; end--) {
    const [left, right] = [word.slice(0, end), word.slice(end)]
    const head = LINKS.filter((link) => left.endsWith(link))
      .map((link) => phrases.get(left.slice(0, left.length - link.length)))
      .find((english) => english)
    const tail = phrases.get(right) ?? phrases.get(findForm(right) ?? '')
    if (head && tail) return [...head, ...tail]
  }
  return undefined
}

/** Finds the word of the vocabulary with the longest common beginning, if it is long enough. */
function findForm(word: string): string | undefined {
  if (word.length < INFLECTION.lengthMin) return undefined
  const forms = translations().byPrefix.get(word.slice(0, INFLECTION.prefixMin)) ?? []
  const shares = forms.map((form) => {
    const length = Math.max(form.length, word.length)
    let common = 0
    while (common < length && form[common] === word[common]) common++
    return { form, share: common / length }
  })
  return shares
    .filter(({ share }) => share >= INFLECTION.share)
    .toSorted((a, b) => b.share - a.share)[0]?.form
}

/** Translates a text without spaces, longest words first; the rest is dropped if any is known. */
function translateRun(run: string): string {
  const { unspaced, unspacedMax } = translations()
  const found: string[] = []
  const text = run.toLowerCase()
  for (let at = 0; at < text.length; ) {
    let length = Math.min(unspacedMax, text.length - at)
    while (length > 0 && !unspaced.has(text.slice(at, at + length))) length--
    if (length > 0) found.push(unspaced.get(text.slice(at, at + length))!)
    at += Math.max(length, 1)
  }
  return ` ${found.length > 0 ? found.join(' ') : run} `
}
