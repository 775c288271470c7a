import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { signingKeyOf } from '../../core/crypto/signing-key.ts'

/** Key of an agent, with its entry in a key directory. */
export function newAgentKey() {
  const { privateKey } = generateKeyPairSync('ed25519')
  const { id } = signingKeyOf(privateKey)
  return { privateKey, id, jwk: { ...privateKey.export({ format: 'jwk' }), d: undefined } }
}
export type AgentKey = ReturnType<typeof newAgentKey>

/** Serves a key directory. */
export const directory =
  (...keys: readonly AgentKey[]) =>
  (_: unknown, response: ServerResponse): void => {
    const type = 'application/http-message-signatures-directory+json'
    const body = JSON.stringify({ keys: keys.map(({ jwk }) => jwk) })
    response.writeHead(200, { 'Content-Type': type }).end(body)
  }

export interface Signature {
  readonly key: Pick<AgentKey, 'id'> & { readonly privateKey: KeyObject }
  /** Host that the signature is for. */
  readonly host: string
  /** Value of `Signature-Agent`. */
  readonly agent?: string
  readonly covered?: readonly string[]
  /** Seconds from now. */
  readonly created?: number
  readonly expires?: number
  readonly nonce?: string | null
  readonly tag?: string
}

export const AGENT = 'agent.test'

/** Headers that sign a request (RFC 9421 §2.5), written without the library of the hub. */
export function signatureOf({
  key,
  host,
  agent = `"http://${AGENT}"`,
  covered = ['@authority', 'signature-agent'],
  created = -1,
  expires = 60,
  nonce = randomBytes(32).toString('base64'),
  tag = 'web-bot-auth',
}: Signature): Record<string, string> {
  const now = Math.floor(Date.now() / 1_000)
  const params =
    `(${covered.map((name) => `"${name}"`).join(' ')});created=${now + created}` +
    `;expires=${now + expires};keyid="${key.id}"` +
    `${nonce === null ? '' : `;nonce="${nonce}"`};tag="${tag}"`
  const values: Readonly<Record<string, string>> = { '@authority': host, 'signature-agent': agent }
  const lines = covered.map((name) => `"${name}": ${values[name]}`)
  const base = [...lines, `"@signature-params": ${params}`].join('\n')
  return {
    'signature-agent': agent,
    'signature-input': `sig1=${params}`,
    signature: `sig1=:${sign(null, Buffer.from(base), key.privateKey).toString('base64')}:`,
  }
}
