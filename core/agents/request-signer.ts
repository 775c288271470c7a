import { randomBytes } from 'node:crypto'
import { component, createSignatureSync, type SignatureComponent } from 'http-message-sig'
import type { Clock } from '../clock.ts'
import type { SigningKey } from '../crypto/signing-key.ts'
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
}

/** Signs the requests of this hub to others (Web Bot Auth, RFC 9421), and its key directory. */
export class RequestSigner {
  readonly #keys: RequestSignerOptions['keys']
  readonly #origin: RequestSignerOptions['origin']
  readonly #clock: Clock

  constructor({ keys, origin, clock }: RequestSignerOptions) {
    this.#keys = keys
    this.#origin = origin
    this.#clock = clock
  }

  /** Returns the headers that sign a request. They name its host, and are valid for a minute. */
  headersFor(method: string, url: string): Record<string, string> {
    const agent = `${LABEL}="${this.#origin()}"`
    const fields = [{ name: AGENT_HEADER, value: agent }]
    const { signature, signatureInput } = createSignatureSync(
      { kind: 'request', method, targetUri: url, fields },
      this.#terms(this.#keys()[0]!, REQUEST_COMPONENTS, {
        label: LABEL,
        tag: REQUEST_TAG,
        seconds: REQUEST_SECONDS,
      }),
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
        }),
      ),
    )
    const headers = {
      'Content-Type': DIRECTORY_TYPE,
      Signature: signed.map(({ signature }) => signature).join(', '),
      'Signature-Input': signed.map(({ signatureInput }) => signatureInput).join(', '),
    }
    return { headers, body: { keys: keys.map(toJwk) } }
  }

  #terms(
    key: SigningKey,
    components: readonly SignatureComponent[],
    { label, tag, seconds }: Readonly<Record<'label' | 'tag', string> & { seconds: number }>,
  ) {
    const now = Math.floor(this.#clock.now().getTime() / 1_000)
    const parameters = {
      created: now - SKEW_SECONDS,
      expires: now + seconds,
      keyid: key.id,
      alg: 'ed25519',
      nonce: randomBytes(NONCE_BYTES).toString('base64'),
      tag,
    }
    const signer = { algorithm: 'ed25519', sign: (data: Uint8Array) => key.sign(data) }
    return { label, components, parameters, signer }
  }
}

const toJwk = ({ id, publicKey }: SigningKey) => ({
  kty: 'OKP' as const,
  crv: 'Ed25519' as const,
  kid: id,
  x: publicKey.toString('base64url'),
  use: 'sig' as const,
})
