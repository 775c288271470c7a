import { z } from 'zod'
import { elapsedMs } from '../../clock.ts'
import { EgressError } from '../../egress/errors.ts'
import type { Egress, EgressResponse } from '../../egress/http.ts'
import { tryParseJson } from '../../json.ts'
import { Failure } from '../../plugin/index.ts'
import type { AccessToken, AccessTokens } from '../../plugin/upstreams.ts'
import { singleFlight } from '../../runtime/cache.ts'

/** Client credentials of an API (RFC 6749 §4.4), stored encrypted as one upstream credential. */
export interface ClientCredentials {
  readonly tokenUrl: string
  readonly clientId: string
  readonly clientSecret: string
  readonly scope?: string | undefined
  readonly audience?: string | undefined
  /** Place of the client's id and secret in the request for a token (RFC 6749 §2.3.1). */
  readonly authentication: 'basic' | 'body'
}

const TokenResponse = z.object({
  access_token: z.string().regex(/^[\x21-\x7e]{1,8000}$/),
  token_type: z
    .string()
    .regex(/^bearer$/i)
    .default('Bearer'),
  expires_in: z.coerce.number().min(0).catch(3_600),
})

const TIMEOUT_MS = 10_000
const RESPONSE_BYTES_MAX = 65_536
/** Part of its life after which a token is replaced. */
const REFRESH_AFTER = 0.9
/** Minimum age of a token that is replaced because the API refused it. */
const REFUSED_AGE_MS = 10_000
/** Errors of RFC 6749 §5.2, which are shown; any other text of a token endpoint is not. */
const SHOWN_ERRORS =
  /^(?:invalid_(?:request|client|grant|scope|target)|unauthorized_client|unsupported_grant_type)$/

interface HeldToken extends AccessToken {
  readonly fetchedAt: number
  readonly refreshAt: number
  readonly expiresAt: number
}

/** Access tokens of one API: fetched when a call needs one, held in memory of this process. */
export class OAuthTokens implements AccessTokens {
  readonly #credentials: ClientCredentials
  readonly #way: Pick<Egress, 'request'>
  readonly #now: () => number
  readonly #load = singleFlight<'', HeldToken>(() => this.#request())
  #held: HeldToken | undefined

  /** @param now monotonic time in milliseconds */
  constructor(
    credentials: ClientCredentials,
    way: Pick<Egress, 'request'>,
    now: () => number = elapsedMs,
  ) {
    this.#credentials = credentials
    this.#way = way
    this.#now = now
  }

  async get(): Promise<AccessToken> {
    const held = this.#held
    if (held && this.#now() < held.refreshAt) return held
    try {
      return (this.#held = await this.#load(''))
    } catch (error) {
      if (held && this.#held === held && this.#now() < held.expiresAt) return held
      throw error
    }
  }

  discard(token: AccessToken): boolean {
    if (this.#held !== token) return true // it was replaced meanwhile
    if (this.#now() - this.#held.fetchedAt < REFUSED_AGE_MS) return false
    this.#held = undefined
    return true
  }

  /** @throws Failure without any text of the token endpoint but its registered errors */
  async #request(): Promise<HeldToken> {
    const fetchedAt = this.#now()
    const response = await this.#post()
    const { data } = TokenResponse.safeParse(tryParseJson(response.body.toString()))
    if (response.status !== 200 || !data) throw refusal(response)
    const lifeMs = data.expires_in * 1_000
    const value = `Bearer ${data.access_token}`
    return {
      authorization: value,
      hidden: [
        { place: 'header', name: 'authorization', value },
        { place: 'header', name: 'client_secret', value: this.#credentials.clientSecret },
      ],
      fetchedAt,
      refreshAt: fetchedAt + lifeMs * REFRESH_AFTER,
      expiresAt: fetchedAt + lifeMs,
    }
  }

  async #post(): Promise<EgressResponse> {
    const { tokenUrl: url, clientId, clientSecret, scope, audience } = this.#credentials
    const isBasic = this.#credentials.authentication === 'basic'
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      ...(scope !== undefined && { scope }),
      ...(audience !== undefined && { audience }),
      ...(!isBasic && { client_id: clientId, client_secret: clientSecret }),
    })
    const basic = Buffer.from(`${formEncoded(clientId)}:${formEncoded(clientSecret)}`)
    const headers = {
      accept: 'application/json',
      'content-type': 'application/x-www-form-urlencoded',
      ...(isBasic && { authorization: `Basic ${basic.toString('base64')}` }),
    }
    try {
      return await this.#way.request({
        url,
        method: 'POST',
        headers,
        body: String(form),
        maxBytes: RESPONSE_BYTES_MAX,
        timeouts: { totalMs: TIMEOUT_MS },
      })
    } catch (error) {
      if (!(error instanceof EgressError)) throw error
      if (error.code === 'upstream_timeout') throw failure(504, error.code, 'did not respond')
      throw failure(502, 'upstream_error', 'cannot be used', { code: error.code })
    }
  }
}

const formEncoded = (text: string): string => String(new URLSearchParams([['', text]])).slice(1)

function refusal({ status, body }: EgressResponse): Failure {
  const given = z
    .object({ error: z.string().regex(SHOWN_ERRORS) })
    .safeParse(tryParseJson(body.toString()))
  const { error } = given.data ?? {}
  const what = error ?? (status === 200 ? 'no bearer token' : undefined)
  const extras = { status, ...(error !== undefined && { error }) }
  const detail = `returned status ${status}${what === undefined ? '' : ` (${what})`}`
  return failure(502, 'upstream_error', detail, extras)
}

const failure = (status: 502 | 504, code: string, what: string, token: object = {}): Failure =>
  new Failure(status, code, `The token endpoint of the provider ${what}.`, {
    ...(Object.keys(token).length > 0 && { token_endpoint: token }),
  })
