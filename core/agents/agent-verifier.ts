import { verify } from 'node:crypto'
import {
  type FieldOccurrence,
  SignatureError,
  type SignatureParameters,
  type UntrustedSignatureCandidate,
  verifySignature,
} from 'http-message-sig'
import type { Pool } from 'pg'
import { isInnerList, parseDictionary, parseItem, Token } from 'structured-headers'
import type { Clock } from '../clock.ts'
import { sha256 } from '../crypto/sha256.ts'
import type { HeaderValues } from '../egress/headers.ts'
import type { Egress } from '../egress/http.ts'
import type { Log } from '../log.ts'
import { logFailure } from '../outages.ts'
import { KeyDirectories } from './key-directories.ts'
import { AGENT_HEADER, REQUEST_TAG } from './web-bot-auth.ts'

/** Request that an agent has signed, as it was sent to this hub. */
export interface SignedMessage {
  readonly method: string
  /** At the public origin of this hub, whatever `Host` said. */
  readonly url: string
  readonly headers: HeaderValues
}

/**
 * Why an agent is not verified. `signature_invalid`: malformed, expired, for another host, or not
 * by this key. `agent_invalid`: `Signature-Agent` does not name one origin with a directory.
 */
type AgentProblem =
  | 'agent_invalid'
  | 'signature_invalid'
  | 'lifetime_too_long'
  | 'nonce_missing'
  | 'key_unknown'
  | 'nonce_used'
  | 'unavailable'

/** Host of a verified agent, such as `agent.example`, or why there is none. */
type AgentVerdict = { readonly agent: string } | { readonly problem: AgentProblem }

/** Maximum validity of a signature: its nonce is stored as long. */
const LIFETIME_MAX_SECONDS = 86_400
/** Time by which the clock of an agent may differ. */
const SKEW_SECONDS = 5
const NONCE_MAX = 256
/** Longest host name of DNS. */
const HOST_MAX = 253

class Unverified extends Error {
  readonly problem: AgentProblem
  constructor(problem: AgentProblem) {
    super(problem)
    this.problem = problem
  }
}

/** Returns true if a request has a signature by which an agent identifies itself. */
export const isSignedByAgent = ({ 'signature-input': input }: HeaderValues): boolean =>
  input !== undefined && String(input).includes(`"${REQUEST_TAG}"`)

interface AgentVerifierDeps {
  readonly pool: Pool
  readonly http: Pick<Egress, 'request'>
  readonly clock: Clock
  readonly log: Log
}

/**
 * Verifies by which agent a request is signed (Web Bot Auth, RFC 9421): with a key from the
 * directory of the origin that the signed `Signature-Agent` names. Each nonce counts once.
 */
export class AgentVerifier {
  readonly #deps: AgentVerifierDeps
  readonly #directories: KeyDirectories

  constructor(deps: AgentVerifierDeps) {
    this.#deps = deps
    this.#directories = new KeyDirectories(deps.http)
  }

  /**
   * Never throws: a request whose agent is not verified is one of nobody in particular.
   * @param caller who sent it, with a share of the directories that are read at a time
   */
  async verify(message: SignedMessage, caller: string): Promise<AgentVerdict> {
    try {
      const { origin, hostname } = agentOf(message.headers)
      const signed = await this.#verifySignature(message, origin, caller)
      const problem = await this.#useNonce(signed)
      return problem === undefined ? { agent: hostname } : { problem }
    } catch (error) {
      const cause = error instanceof SignatureError ? error.cause : error
      return { problem: cause instanceof Unverified ? cause.problem : 'signature_invalid' }
    }
  }

  /** @throws SignatureError, Unverified */
  async #verifySignature(
    { method, url, headers }: SignedMessage,
    origin: string,
    caller: string,
  ): Promise<SignatureParameters> {
    const label = labelOf(headers)
    const { parameters } = await verifySignature(
      { kind: 'request', method, targetUri: url, fields: toFields(headers) },
      {
        ...(label !== undefined && { label }),
        policy: {
          algorithms: ['ed25519'],
          requiredComponents: ['@authority'],
          requiredParameters: ['created', 'expires', 'keyid', 'tag'],
          clockSkew: SKEW_SECONDS,
          now: Math.floor(this.#deps.clock.now().getTime() / 1_000),
        },
        resolveVerifier: async (candidate) => {
          assertAccepted(candidate)
          const key = await this.#directories.find(origin, candidate.parameters.keyid!, caller)
          if (key === 'busy') throw new Unverified('unavailable')
          if (!key) throw new Unverified('key_unknown')
          const algorithm = 'ed25519'
          return { algorithm, verify: (data, signature) => verify(null, data, key, signature) }
        },
      },
    )
    return parameters
  }

  /** Stores a nonce after the signature was verified, so that only agents can add rows. */
  async #useNonce({ keyid, nonce, expires }: SignatureParameters) {
    const { pool, log } = this.#deps
    const id = sha256(`${keyid}:${nonce}`)
    try {
      const { rowCount } = await pool.query({ ...USE_NONCE, values: [id, expires] })
      return rowCount === 1 ? undefined : 'nonce_used'
    } catch (err) {
      logFailure(log, 'warn', { err, component: 'database' }, 'agent not verified')
      return 'unavailable'
    }
  }
}

const USE_NONCE = {
  name: 'agents.use-nonce',
  text: `INSERT INTO hub.used_agent_nonce (id, expires_at) VALUES ($1, to_timestamp($2))
    ON CONFLICT DO NOTHING`,
}

/** @throws Unverified if a signature is not one by which an agent identifies itself, once */
function assertAccepted({ components, parameters }: UntrustedSignatureCandidate): void {
  const { created, expires, nonce = '', tag } = parameters
  const coversAgent = components.some(({ name }) => name === AGENT_HEADER)
  if (!coversAgent || tag !== REQUEST_TAG) throw new Unverified('signature_invalid')
  if (expires! - created! > LIFETIME_MAX_SECONDS) throw new Unverified('lifetime_too_long')
  if (nonce === '' || nonce.length > NONCE_MAX) throw new Unverified('nonce_missing')
}

/** Returns the label of the agent's signature among others. @throws ParseError */
function labelOf({ 'signature-input': input }: HeaderValues): string | undefined {
  const [found] = [...parseDictionary(String(input))].filter(
    ([, [, parameters]]) => parameters.get('tag') === REQUEST_TAG,
  )
  return found?.[0]
}

/**
 * Returns the origin of the directory that the request names. It names one, so that it is the one
 * that is signed, whichever member of the header the signature covers.
 * @throws Unverified
 */
function agentOf({ [AGENT_HEADER]: header }: HeaderValues): URL {
  const url = URL.parse(directoryIn(String(header)) ?? '')
  const isOrigin = url !== null && /^https?:$/.test(url.protocol) && url.port === ''
  // With a last dot, the same host would have two names in rules.
  if (isOrigin && url.hostname.length <= HOST_MAX && !url.hostname.endsWith('.')) return url
  throw new Unverified('agent_invalid')
}

/** Reads the only member of a dictionary, or a plain string as in earlier drafts. */
function directoryIn(header: string): string | undefined {
  const item = header.startsWith('"') ? tryParse(() => parseItem(header)) : onlyMember(header)
  if (!item || isInnerList(item)) return undefined
  const [uri, parameters] = item
  const type = parameters.get('type')
  const isDirectory =
    type === undefined || (type instanceof Token && type.toString() === 'directory')
  return typeof uri === 'string' && isDirectory ? uri : undefined
}

function onlyMember(header: string) {
  const members = [...(tryParse(() => parseDictionary(header))?.values() ?? [])]
  return members.length === 1 ? members[0] : undefined
}

function tryParse<T>(parse: () => T): T | undefined {
  try {
    return parse()
  } catch {
    return undefined
  }
}

/** Headers in ASCII: others cannot be signed. */
const toFields = (headers: HeaderValues): readonly FieldOccurrence[] =>
  Object.entries(headers).flatMap(([name, values]) => {
    const value = [values ?? []].flat().join(', ')
    return values === undefined || /[^\t\x20-\x7e]/.test(value) ? [] : [{ name, value }]
  })
