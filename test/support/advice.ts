interface Request {
  readonly path: string
  readonly headers: Readonly<Record<string, unknown>>
}

interface Response {
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: Readonly<Record<string, unknown>>
}

type Fits = (request: Request, response: Response, advice: string) => boolean

const hasMember =
  (name: string): Fits =>
  (_, { body }) =>
    body[name] !== undefined
const hasHeader =
  (name: string): Fits =>
  (_, { headers }) =>
    headers[name] !== undefined

/** Phrases of advice, and whether they fit a request and its problem. */
const RULES: readonly (readonly [phrase: RegExp, fits: Fits])[] = [
  [/\bissues\[\]/, hasMember('issues')],
  [/\bmissing\[\]/, hasMember('missing')],
  [/\brefused\[\]/, hasMember('refused')],
  [/\blimit_bytes\b/, hasMember('limit_bytes')],
  [/\bresets_at\b/, hasMember('resets_at')],
  [/\bscope\b/, hasMember('scope')],
  [/^See reason\b/, hasMember('reason')],
  [/\bsee receipt\b/i, hasMember('receipt')],
  [/\bWait for the seconds given in Retry-After\b/, hasHeader('retry-after')],
  [/\bAllow header\b/, hasHeader('allow')],
  [/\bvia x402\b/, hasHeader('payment-required')],
  [/\bRaise X-Max-Price\b/, ({ headers }) => 'x-max-price' in lower(headers)],
  [/\bRaise crawler-max-price\b/, ({ headers }) => 'crawler-max-price' in lower(headers)],
  [/\bbuy credits\b/i, ({ path }) => !/^\/v1\/(?:credits\/purchase|topups)/.test(path)],
]

const lower = (headers: Request['headers']): object =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

/** Lists the phrases in the advice of a problem that name what its response or request lacks. */
export function findMisfits(request: Request, response: Response): readonly string[] {
  const { advice, type, code } = response.body
  if (typeof advice !== 'string' || typeof type !== 'string') return []
  const misfits = RULES.filter(
    ([phrase, fits]) => phrase.test(advice) && !fits(request, response, advice),
  ).map(([phrase]) => String(phrase))
  return type === `/docs/problems/${String(code)}` ? misfits : [...misfits, `link ${type}`]
}
