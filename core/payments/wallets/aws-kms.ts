import { secp256k1 } from '@noble/curves/secp256k1'
import { isAddressEqual } from 'viem'
import { publicKeyToAddress } from 'viem/accounts'
import type { Hex } from '../chain/asset.ts'
import type { RawSignature, RemoteSigner } from './remote-account.ts'

export interface AwsKmsOptions {
  /** Id, ARN or alias of an ECC_SECG_P256K1 key for signing. */
  readonly keyId: string
  /** Time limit of a signature, with retries. @defaultValue 5000 */
  readonly timeoutMs?: number
}

/** Bytes of an uncompressed point, at the end of a public key in SPKI (DER). */
const POINT_BYTES = 65
const ATTEMPTS = 2

/**
 * Signs with AWS KMS. Credentials, region and endpoint are those of the AWS SDK's environment; the
 * region in an ARN takes precedence. The client is loaded on first use.
 */
export function awsKmsSigner({ keyId, timeoutMs = 5_000 }: AwsKmsOptions): RemoteSigner {
  let opening: Promise<Awaited<ReturnType<typeof openClient>>> | undefined
  const open = () => (opening ??= openClient(keyId, timeoutMs))

  async function sign(hash: Hex): Promise<RawSignature> {
    const { client, SignCommand } = await open()
    const command = new SignCommand({
      KeyId: keyId,
      Message: Buffer.from(hash.slice(2), 'hex'),
      MessageType: 'DIGEST',
      SigningAlgorithm: 'ECDSA_SHA_256',
    })
    const { Signature } = await client.send(command, {
      abortSignal: AbortSignal.timeout(timeoutMs),
    })
    if (!Signature) throw new Error('KMS returned no signature')
    const { r, s } = secp256k1.Signature.fromDER(Buffer.from(Signature).toString('hex'))
    return { r, s }
  }

  return {
    async assertKey(address) {
      const { client, GetPublicKeyCommand } = await open()
      const abortSignal = AbortSignal.timeout(timeoutMs)
      const command = new GetPublicKeyCommand({ KeyId: keyId })
      const { PublicKey } = await client.send(command, { abortSignal })
      const point = Buffer.from(PublicKey ?? []).subarray(-POINT_BYTES)
      const isPoint = point.length === POINT_BYTES && point[0] === 4
      const own = isPoint ? publicKeyToAddress(`0x${point.toString('hex')}`) : undefined
      if (own && isAddressEqual(own, address)) return
      throw new Error(`the key ${keyId} belongs to ${own ?? 'no address'}, not to ${address}`)
    },
    signTypedData: (_, _data, hash) => sign(hash),
    signTransaction: (_, _transaction, hash) => sign(hash),
  }
}

async function openClient(keyId: string, timeoutMs: number) {
  const { KMSClient, SignCommand, GetPublicKeyCommand } = await import('@aws-sdk/client-kms')
  const [, region] = /^arn:[\w-]+:kms:([\w-]+):/.exec(keyId) ?? []
  const client = new KMSClient({
    ...(region && { region }),
    maxAttempts: ATTEMPTS,
    requestHandler: { requestTimeout: timeoutMs, connectionTimeout: timeoutMs },
  })
  return { client, SignCommand, GetPublicKeyCommand }
}
