import type { PoolClient } from 'pg'
import { CONFUSABLES } from './confusables.ts'

/** Texts of an owner that callers read. */
export interface OwnerTexts {
  readonly slug: string | undefined
  readonly name: string
  /** Summaries and other sentences. */
  readonly sentences: readonly string[]
}

/** Removes accents, case and everything but letters and digits, as the search does. */
const squashed = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '')

/**
 * Returns the look of a text in ASCII lower case (UTS #39, 4: skeletons). `PаyРal` with Cyrillic
 * letters and `PAYPAL` look the same, as do `0` and `o`, `1`, `I` and `l`.
 */
export function skeletonOf(text: string): string {
  const decomposed = text.normalize('NFKD').replace(/\p{M}/gu, '')
  const ascii = Array.from(decomposed, (char) => CONFUSABLES.get(char) ?? char).join('')
  return ascii
    .replaceAll('0', 'o')
    .replace(/[1I|]/g, 'l')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '')
}

/** Spellings by which a name is compared with others. */
const spellingsOf = (text: string): readonly string[] => [
  ...new Set([squashed(text), skeletonOf(text), skeletonOf(text.toLowerCase())]),
]

/** Name of the software, which every installation protects. */
const SOFTWARE = 'agenthub'

/** Shorter labels of hosts are ordinary words. */
const LABEL_MIN = 6

/** Names of the platform: its own, and the main label of the host where it is reached. */
export function platformNames(baseUrl: string): readonly string[] {
  const { hostname } = new URL(baseUrl)
  const labels = /[a-z]$/.test(hostname) ? hostname.split('.').slice(-2, -1) : []
  const own = labels.map(squashed).filter(({ length }) => length >= LABEL_MIN)
  return [...new Set([SOFTWARE, ...own])]
}

const WORD = /[\p{L}\p{M}]+/gu
const LATIN = /\p{Script=Latin}/u
const LOOKS_LATIN = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}]/u

/** Returns true if one word mixes Latin letters with letters that look like them. */
const mixesScripts = (text: string): boolean =>
  (text.match(WORD) ?? []).some((word) => LATIN.test(word) && LOOKS_LATIN.test(word))

const AUTHORITY = /\b(?:official|verified by|(?:hub|platform) (?:support|security|team|admin))\b/i
const RECOVERY =
  /\b(?:wallet|account|key|seed|funds?)\W{1,3}(?:recover|restor|unlock|verification)\w{0,6}\b/i
const SECRET =
  /\b(?:private|secret|wallet|hub)[ _-]?keys?\b|\b(?:seed|recovery) phrase\b|\bmnemonic\b/i
const REQUEST = /\b(?:send|enter|paste|share|submit|provide|give|post|include|supply)\b/i
const API_KEY = /\bapi[ _-]?keys?\b/i

/** Returns true if a text asks readers for a secret. Keys named `ahk_` are the platform's. */
const asksForSecret = (text: string, platform: readonly string[]): boolean =>
  /\bahk_/i.test(text) ||
  (SECRET.test(text) && REQUEST.test(text)) ||
  (API_KEY.test(text) && platform.some((one) => skeletonOf(text).includes(one)))

/** Advice to the owner of held texts. */
export const HOLD_ADVICE = 'Change the text, or wait for an administrator to review it.'

const QUOTED_MAX = 80

/** Quotes the beginning of a text, by which its owner finds it among many. */
const quote = (text = ''): string =>
  `The text "${text.length > QUOTED_MAX ? `${text.slice(0, QUOTED_MAX)}…` : text}"`

/** Lists why texts have to be reviewed before callers read them, as sentences to their owner. */
export function holdReasons(texts: OwnerTexts, platform: readonly string[]): readonly string[] {
  const { slug = '', name, sentences } = texts
  const all = [name, ...sentences]
  const named = [name, slug].flatMap(spellingsOf)
  const imitated = platform.find((one) => named.some((each) => each.includes(one)))
  const recovery = all.find((text) => RECOVERY.test(text))
  const asking = all.find((text) => asksForSecret(text, platform))
  const checks: readonly (readonly [boolean, string])[] = [
    [imitated !== undefined, `The name resembles "${imitated}", the name of this platform.`],
    [AUTHORITY.test(name), 'The name claims to speak for somebody, such as by "official".'],
    [[slug, ...all].some(mixesScripts), 'A word mixes letters of several scripts that look alike.'],
    [recovery !== undefined, `${quote(recovery)} offers to recover or unlock an account.`],
    [asking !== undefined, `${quote(asking)} mentions keys or phrases that callers keep secret.`],
  ]
  return checks.flatMap(([applies, why]) => (applies ? [why] : []))
}

/** Returns true for texts of a listing that imitate the platform or ask for its keys. */
export const imitatesPlatform = (name: string, description: string): boolean =>
  spellingsOf(name).some((each) => each.includes(SOFTWARE)) ||
  [name, description].some((text) => asksForSecret(text, [SOFTWARE]))

/** Looks of a name, with `i` and `l` alike. */
export const looksOf = (name: string): readonly string[] =>
  spellingsOf(name).map((look) => look.replaceAll('i', 'l'))

/**
 * Returns those of the names that are reserved: names of providers, and disguised names of services
 * on sale, such as with letters of other scripts.
 */
export async function reservedNames(
  client: Pick<PoolClient, 'query'>,
  names: readonly string[],
): Promise<ReadonlySet<string>> {
  const looks = names.flatMap((name) => looksOf(name).map((look) => ({ name, look })))
  const { rows } = await client.query<{ name: string }>(
    `WITH reserved AS MATERIALIZED (
       SELECT translate(plain, '01i', 'oll') AS look, plain
       FROM hub.service s, hub.search_squashed(s.name) plain WHERE s.state = 'active'
       UNION SELECT translate(replace(id, '-', ''), '01i', 'oll'), NULL FROM hub.provider
       UNION SELECT translate(hub.search_squashed(v.content ->> 'name'), '01i', 'oll'), NULL
       FROM hub.content_version v WHERE v.subject LIKE 'provider:%' AND v.state = 'approved')
     SELECT DISTINCT c.name FROM unnest($1::text[], $2::text[], $3::text[]) c (name, look, plain)
     JOIN reserved r USING (look) WHERE r.plain IS DISTINCT FROM c.plain`,
    [
      looks.map(({ name }) => name),
      looks.map(({ look }) => look),
      looks.map(({ name }) => squashed(name)),
    ],
  )
  return new Set(rows.map(({ name }) => name))
}

/** Returns a reason if a service of another provider on sale has a name that looks the same. */
export async function imitatedService(
  client: Pick<PoolClient, 'query'>,
  provider: string,
  name: string,
): Promise<readonly string[]> {
  const { rows } = await client.query<{ slug: string }>(
    `SELECT slug FROM hub.service WHERE state = 'active' AND provider <> $1
       AND translate(hub.search_squashed(name), '01', 'ol') = ANY ($2) LIMIT 1`,
    [provider, spellingsOf(name)],
  )
  const [other] = rows
  if (!other) return []
  return [`The name looks the same as that of "${other.slug}", of another provider.`]
}
