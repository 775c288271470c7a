/**
 * Text that strangers write and people or models read. Invisible characters can hide instructions
 * or reorder what is shown (Unicode TR 36 and TR 39).
 */

/**
 * Characters that nobody sees: controls, formats, ignorables, private use, blank letters, and
 * noncharacters, two of which XML cannot express.
 */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Default_Ignorable_Code_Point}\p{NChar}\u2800]/u
const INVISIBLE_GLOBAL = new RegExp(INVISIBLE, 'gu')

/** Letters and marks of scripts whose spelling needs joiners: Arabic, Indic and a few others. */
const JOINED = (
  'Arabic Syriac Mongolian Nko Devanagari Bengali Gurmukhi Gujarati ' +
  'Oriya Tamil Telugu Kannada Malayalam Sinhala Khmer Myanmar'
)
  .split(' ')
  .map((script) => `\\p{Script=${script}}`)
  .join('')
const PICTURE = '\\p{Extended_Pictographic}'

/**
 * Joiners and variation selectors that change what is seen: inside words of scripts that need
 * them, between the parts of an emoji, and one selector after an emoji.
 */
const VISIBLE_USE = new RegExp(
  `(?<=[${JOINED}]\\p{M}{0,4})[\\u200c\\u200d](?=[${JOINED}])` +
    `|(?<=${PICTURE}\\ufe0f?|\\p{Emoji_Modifier})\\u200d(?=${PICTURE})` +
    `|(?<=[${PICTURE}#*0-9])\\ufe0f`,
  'gu',
)

/** More marks on one letter than any spelling has cover the lines above and below. */
const MARKS_MAX = 4
const STACKED_MARKS = new RegExp(`(\\p{M}{${MARKS_MAX}})\\p{M}+`, 'gu')

const SPACE = /[\p{Zl}\p{Zp}\p{Cc}]/u
const NEEDS_CLEANING = new RegExp(`${INVISIBLE.source}|\\p{M}{${MARKS_MAX + 1}}`, 'u')
const LINE_FEED = /[\t\n\r]/

/** Removes what nobody sees and cuts stacked marks. Lines and spaces stay. */
export function visibleText(text: string): string {
  const whole = text.toWellFormed()
  if (!NEEDS_CLEANING.test(whole)) return whole
  const used = new Set(Array.from(whole.matchAll(VISIBLE_USE), ({ index }) => index))
  return whole
    .replace(INVISIBLE_GLOBAL, (char, index: number) => {
      if (used.has(index) || LINE_FEED.test(char)) return char
      return SPACE.test(char) ? ' ' : ''
    })
    .replace(STACKED_MARKS, '$1')
}

/** Visible ASCII with single spaces, which needs no cleaning. */
const PLAIN_LINE = /^[!-~]+(?: [!-~]+)*$/

/** Cleans text of a stranger: one line of at most `max` visible characters; still not HTML. */
export function cleanText(value: unknown, max: number): string {
  if (typeof value !== 'string') return ''
  if (value.length <= max && PLAIN_LINE.test(value)) return value
  const text = visibleText(value.slice(0, max * 4).normalize('NFC'))
    .replace(/\s+/g, ' ')
    .trim()
  return text.length <= max
    ? text
    : `${text
        .slice(0, max - 1)
        .replace(/[\uD800-\uDBFF]$/, '')
        .trimEnd()}…`
}

/** Tags of HTML; those of the group stand within words. */
const TAG = new RegExp(
  '</?(?:(a|b|code|em|font|i|s|small|span|strong|sub|sup|u)|blockquote|br|div|h[1-6]|hr|img|li|' +
    'ol|p|pre|table|tbody|td|th|thead|tr|ul)(?:\\s[^<>]*)?/?>',
  'gi',
)

/** Cleans text like `cleanText`, without the tags of HTML, which Markdown may have. */
export function cleanMarkup(value: unknown, max: number): string {
  if (typeof value !== 'string' || !value.includes('<')) return cleanText(value, max)
  const start = value.slice(0, max * 16)
  return cleanText(
    start.replace(TAG, (_, inline: string | undefined) => (inline === undefined ? ' ' : '')),
    max,
  )
}

/** Applies `change` to every string of a JSON value, names of members included. */
function mapStrings(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value)
  if (typeof value !== 'object' || value === null) return value
  if ('toJSON' in value && typeof value.toJSON === 'function') {
    return mapStrings(value.toJSON(), change)
  }
  if (Array.isArray(value)) return value.map((inner) => mapStrings(inner, change))
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [change(name), mapStrings(inner, change)]),
  )
}

/** Removes invisible characters from every string of a JSON value, such as a schema. */
export const visibleJson = <Value>(value: Value): Value => mapStrings(value, visibleText) as Value
