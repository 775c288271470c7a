import { randomBytes } from 'node:crypto'
import { component, createSignatureSync, type SignatureComponent } from 'http-message-sig'
import type { Clock } from '../clock.ts'
import { type SigningKey, toJwk } from '../crypto/signing-key.ts'
import { ttlCache } from '../runtime/cache.ts'
import {
  AGENT_HEADER,
  DIRECTORY_PATH,
  DIRECTORY_TAG,
  DIRECTORY_TYPE,
  REQUEST_TAG,
} from './web-bot-auth.ts'

/** Validity of the signature of a request, and of the directory. */
const REQUEST_SECONDS = 60
const DIRECTORY_SECONDS = 300
/** Validity of a shared signature when it is last used, like that of any other. */
const SHARED_SECONDS = 2 * REQUEST_SECONDS
/** Hosts whose shared signature is reused, and for how long. */
const SHARED = { max: 1_000, ttlMs: REQUEST_SECONDS * 1_000 }
/** Time by which the clock of a verifier may be behind. */
const SKEW_SECONDS = 5
const NONCE_BYTES = 64
const LABEL = 'sig1'
const REQUEST_COMPONENTS = ['@authority', component(AGENT_HEADER, { key: LABEL })] as const
const DIRECTORY_COMPONENTS = [component('@authority', { req: true })] as const

interface RequestSignerOptions {
  /** Returns the valid keys, the current one first. */
  readonly keys: () => readonly SigningKey[]
  /** Returns the origin of this hub, whose directory has the keys. */
  readonly origin: () => string
  readonly clock: Clock
  /** Monotonic time in milliseconds. @defaultValue elapsedMs */
  readonly monotonic?: () => number
}

type SignatureHeaders = Readonly<Record<string, string>>

/** Signs the requests of this hub to others (Web Bot Auth, RFC 9421), and its key directory. */
export class RequestSigner {
  readonly #keys: RequestSignerOptions['keys']
  readonly #origin: RequestSignerOptions['origin']
  readonly #clock: Clock
  readonly #shared: ReturnType<typeof ttlCache<string, SignatureHeaders>>

  constructor({ keys, origin, clock, monotonic: now }: RequestSignerOptions) {
    this.#keys = keys
    this.#origin = origin
    this.#clock = clock
    this.#shared = ttlCache({ ...SHARED, now })
  }

  /** Returns the headers that sign one request: for its host, a minute, and to be used once. */
  headersFor(url: URL): SignatureHeaders {
    return this.#sign(this.#keys()[0]!, url, { seconds: REQUEST_SECONDS, nonce: newNonce() })
  }

  /** Returns the headers that sign all requests to a host for a minute. They have no nonce. */
  sharedHeadersFor(url: URL): SignatureHeaders {
    const key = this.#keys()[0]!
    const id = `${key.id} ${this.#origin()} ${url.host}`
    const known = this.#shared.get(id)
    if (known) return known
    const headers = this.#sign(key, url, { seconds: SHARED_SECONDS })
    this.#shared.set(id, headers)
    return headers
  }

  #sign(key: SigningKey, { href }: URL, validity: Validity): SignatureHeaders {
    const agent = `${LABEL}="${this.#origin()}"`
    const fields = [{ name: AGENT_HEADER, value: agent }]
    // The method is not signed, so that requests of all methods can share a signature.
    const { signature, signatureInput } = createSignatureSync(
      { kind: 'request', method: 'GET', targetUri: href, fields },
      this.#terms(key, REQUEST_COMPONENTS, { label: LABEL, tag: REQUEST_TAG, ...validity }),
    )
    return { [AGENT_HEADER]: agent, 'signature-input': signatureInput, signature }
  }

  /** Returns the directory of the public keys, signed by each of them. */
  directory() {
    const keys = this.#keys()
    const targetUri = `${this.#origin()}${DIRECTORY_PATH}`
    const request = { kind: 'request', method: 'GET', targetUri, fields: [] } as const
    const signed = keys.map((key, n) =>
      createSignatureSync(
        { kind: 'response', status: 200, fields: [], request },
        this.#terms(key, DIRECTORY_COMPONENTS, {
          label: `key${n + 1}`,
          tag: DIRECTORY_TAG,
          seconds: DIRECTORY_SECONDS,
          nonce: newNonce(),
        }),
      ),
    )
    const headers = {
      'Content-Type': DIRECTORY_TYPE,
      Signature: signed.map(({ signature }) => signature).join(', '),
      'Signature-Input': signed.map(({ signatureInput }) => signatureInput).join(', '),
    }
    return { headers, body: { keys: keys.map(({ id, publicKey }) => toJwk(id, publicKey)) } }
  }

  #terms(
    key: SigningKey,
    components: readonly SignatureComponent[],
    { label, tag, seconds, nonce }: Validity & Readonly<Record<'label' | 'tag', string>>,
  ) {
    const now = Math.floor(this.#clock.now().getTime() / 1_000)
    const parameters = {
      created: now - SKEW_SECONDS,
      expires: now + seconds,
      keyid: key.id,
      alg: 'ed25519',
      ...(nonce !== undefined && { nonce }),
      tag,
    }
    const signer = { algorithm: 'ed25519', sign: (data: Uint8Array) => key.sign(data) }
    return { label, components, parameters, signer }
  }
}

interface Validity {
  readonly seconds: number
  /** Value by which a verifier accepts the signature once. */
  readonly nonce?: string
}

const newNonce = (): string => randomBytes(NONCE_BYTES).toString('base64')
