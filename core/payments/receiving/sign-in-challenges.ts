import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type {
  SIWxErrorCode,
  SIWxExtension,
  SIWxExtensionInfo,
  SIWxPayload,
} from '@x402/extensions/sign-in-with-x'
import { createSiweMessage } from 'viem/siwe'
import { type Clock, systemClock } from '../../clock.ts'
import { recoverMessageSigner } from '../../crypto/recover-signer.ts'
import type { Micros } from '../../money.ts'
import { ttlCache } from '../../runtime/cache.ts'
import type { PurposeKeys } from '../../secret-keys/purpose-keys.ts'
import type { Hex } from '../chain/asset.ts'
import { maximumOf, statementOf } from './sign-in-statement.ts'

/** Name of the extension, and of the header with the signed challenge. */
export const SIGN_IN = 'sign-in-with-x'

/** Validity of a challenge, in seconds. The package accepts none that is older. */
const VALID_SECONDS = 300
/** A challenge is dated back by this, because clocks of two servers may differ. */
const SKEW_MS = 2_000
/** Maximum length of the header; a signed challenge has about 1,200 characters. */
const HEADER_MAX = 4_096
const CHECKED_MAX = 20_000
const RANDOM_BYTES = 16
const MAC_BYTES = 16
const NONCE = /^[0-9a-f]{64}$/
const ADDRESS = /^0x[0-9a-fA-F]{40}$/
/** Signature of an externally owned account: 65 bytes. */
const SIGNATURE = /^0x[0-9a-fA-F]{130}$/

/** Request that a challenge was issued for, and that alone may be sent with it. */
export interface SignedRequest {
  /** URL that the message names: the wallet signs for its host. */
  readonly url: string
  /** Digest of everything else that decides what is bought. */
  readonly digest: Buffer
}

/** Wallet that signed a challenge. Its nonce may have been used before. */
export interface SignIn {
  /** Lower case. */
  readonly wallet: string
  readonly nonce: Buffer
  readonly expiresAt: Date
  /** Maximum price that the wallet signed, in microdollars. */
  readonly maximum: Micros
}

/** Code of the package, or of a header that it cannot parse. */
export type SignInRefusal = SIWxErrorCode | 'invalid_siwx_header'

/**
 * Issues and verifies challenges of Sign-in-with-X. Nothing is stored: the nonce ends with a MAC
 * of every field and of the request, so that only issued challenges are accepted, for one request
 * each. The package is imported lazily, because it is slow to load.
 */
export class SignInChallenges {
  readonly #keys: PurposeKeys
  readonly #network: string
  readonly #clock: Clock
  /** Nonces whose signature was checked: one check each, because it is costly. */
  readonly #checked = ttlCache<string, true>({ ttlMs: VALID_SECONDS * 1_000, max: CHECKED_MAX })

  /**
   * @param network chain that wallets sign for, `eip155:8453`
   * @param clock the clock of the database, which all processes share
   */
  constructor(keys: PurposeKeys, network: string, clock: Clock = systemClock) {
    this.#keys = keys
    this.#network = network
    this.#clock = clock
  }

  /**
   * Creates the extension of a 402, with a fresh challenge.
   * @param maximum highest price that may be charged, in microdollars
   */
  async issue(request: SignedRequest, maximum: bigint): Promise<SIWxExtension> {
    const { buildSIWxSchema } = await import('@x402/extensions/sign-in-with-x')
    const { url } = request
    const issued = this.#now() - SKEW_MS
    const fields = {
      domain: new URL(url).host,
      uri: url,
      statement: statementOf(maximum),
      version: '1',
      issuedAt: new Date(issued).toISOString(),
      expirationTime: new Date(issued + VALID_SECONDS * 1_000).toISOString(),
      resources: [url],
    }
    const random = randomBytes(RANDOM_BYTES)
    const mac = macOf(this.#keys.current.material, random, fields, request)
    const nonce = Buffer.concat([random, mac]).toString('hex')
    return {
      info: { ...fields, nonce },
      supportedChains: [{ chainId: this.#network, type: 'eip191' }],
      schema: buildSIWxSchema(),
    }
  }

  /** Verifies the header of a request. Returns the reason if it proves no wallet. */
  async verify(header: string, request: SignedRequest): Promise<SignIn | SignInRefusal> {
    if (header.length > HEADER_MAX) return 'invalid_siwx_header'
    const { parseSIWxHeader, validateSIWxMessage } = await import('@x402/extensions/sign-in-with-x')
    let payload: SIWxPayload
    try {
      payload = parseSIWxHeader(header)
    } catch {
      return 'invalid_siwx_header'
    }
    const { address, signature, nonce } = payload
    if (payload.uri !== request.url) return 'invalid_siwx_uri_mismatch'
    if (payload.chainId !== this.#network) return 'invalid_siwx_unsupported_chain'
    if (!ADDRESS.test(address) || !SIGNATURE.test(signature)) {
      return 'invalid_siwx_malformed_signature'
    }
    const ofThisMachine = shiftTimes(payload, systemClock.now().getTime() - this.#now())
    const validation = await validateSIWxMessage(ofThisMachine, new URL(request.url), {
      checkNonce: () => this.#isIssued(payload, request),
    })
    if (!validation.isValid) return validation.invalidReason
    if (this.#checked.has(nonce)) return 'invalid_siwx_nonce'
    this.#checked.set(nonce, true)
    const wallet = address.toLowerCase()
    if ((await signerOf(payload, signature as Hex)) !== wallet) return 'invalid_siwx_signature'
    return {
      wallet,
      nonce: Buffer.from(nonce, 'hex'),
      expiresAt: new Date(payload.expirationTime!),
      maximum: maximumOf(payload.statement)!,
    }
  }

  #now(): number {
    return this.#clock.now().getTime()
  }

  #isIssued(payload: SIWxPayload, request: SignedRequest): boolean {
    if (!NONCE.test(payload.nonce) || maximumOf(payload.statement) === undefined) return false
    const nonce = Buffer.from(payload.nonce, 'hex')
    const random = nonce.subarray(0, RANDOM_BYTES)
    const mac = nonce.subarray(RANDOM_BYTES)
    return this.#keys.valid.some(({ material }) =>
      timingSafeEqual(macOf(material, random, payload, request), mac),
    )
  }
}

/** Moves the times of a payload to the clock of this machine, by which the package validates. */
function shiftTimes(payload: SIWxPayload, byMs: number): SIWxPayload {
  const { issuedAt, expirationTime } = payload
  const shift = (time: string): string => {
    const shifted = new Date(Date.parse(time) + byMs)
    return Number.isNaN(shifted.getTime()) ? time : shifted.toISOString()
  }
  const end = expirationTime === undefined ? {} : { expirationTime: shift(expirationTime) }
  return { ...payload, issuedAt: shift(issuedAt), ...end }
}

/** Returns the wallet that signed a payload; undefined if no message can be built of its fields. */
async function signerOf(payload: SIWxPayload, signature: Hex): Promise<Hex | undefined> {
  try {
    return await recoverMessageSigner(messageOf(payload), signature)
  } catch {
    return undefined
  }
}

/**
 * Builds the message of EIP-4361 that a wallet signs. Same text as that of the package, whose
 * grammar takes longer than the check of the signature.
 * @throws viem's error for a malformed field
 */
export function messageOf({ issuedAt, expirationTime, ...payload }: SIWxPayload): string {
  const { address, chainId, domain, uri, statement, nonce, resources } = payload
  return createSiweMessage({
    address: address as Hex,
    chainId: Number(chainId.replace('eip155:', '')),
    domain,
    uri,
    statement,
    version: '1',
    nonce,
    issuedAt: new Date(issuedAt),
    expirationTime: new Date(expirationTime!),
    resources,
  })
}

/** Authenticates every field of the message except the wallet, its chain and the nonce. */
function macOf(
  key: Buffer,
  random: Buffer,
  fields: Omit<SIWxExtensionInfo, 'nonce'> | SIWxPayload,
  { url, digest }: SignedRequest,
): Buffer {
  const { domain, uri, statement, version, issuedAt, expirationTime } = fields
  const { notBefore, requestId, resources } = fields
  const times = [issuedAt, expirationTime, notBefore]
  const message = [domain, uri, statement, version, ...times, requestId, resources, url]
  const text = JSON.stringify([...message, digest.toString('hex'), random.toString('hex')])
  return createHmac('sha256', key).update(text).digest().subarray(0, MAC_BYTES)
}
