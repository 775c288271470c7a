import type { Hex } from '../chain/asset.ts'

/** Place of a platform wallet's key. */
export type WalletSource =
  | { readonly kind: 'environment'; readonly key: Hex }
  | { readonly kind: 'file'; readonly path: string; readonly address: Hex | undefined }
  | { readonly kind: 'web3signer'; readonly url: string; readonly address: Hex }
  | { readonly kind: 'aws-kms'; readonly keyId: string; readonly address: Hex }

/** Files that authenticate the hub to a remote signer (mutual TLS). */
export interface SignerTls {
  /** Certificates to trust; undefined: those of the system. */
  readonly ca: string | undefined
  readonly cert: string | undefined
  readonly key: string | undefined
}

/** Variables of one wallet. */
export interface WalletVariables {
  readonly key: string | undefined
  readonly file: string | undefined
  readonly signer: string | undefined
  readonly address: string | undefined
}

const KMS = 'aws-kms:'

/**
 * Reads where the key of a wallet is.
 * @param name prefix of the variables, such as `SPEND_WALLET`
 * @returns the source, undefined if no variable is set, or a sentence that says what is wrong
 */
export function walletSourceOf(
  name: string,
  { key, file, signer, address }: WalletVariables,
): WalletSource | string | undefined {
  const given = [key, file, signer].filter((each) => each !== undefined).length
  if (given > 1) return `Set one of ${name}_KEY, ${name}_KEY_FILE and ${name}_SIGNER.`
  const known = address as Hex | undefined
  if (key !== undefined) return { kind: 'environment', key: key as Hex }
  if (file !== undefined) return { kind: 'file', path: file, address: known }
  if (signer === undefined) return undefined
  if (known === undefined) {
    return `${name}_SIGNER requires ${name}_ADDRESS, so that a signature of another key is refused.`
  }
  return signer.startsWith(KMS)
    ? { kind: 'aws-kms', keyId: signer.slice(KMS.length), address: known }
    : { kind: 'web3signer', url: signer, address: known }
}

/** Returns what is wrong with a value of `…_SIGNER`; undefined if it is valid. */
export function signerFault(text: string): string | undefined {
  if (text.startsWith(KMS)) {
    return /^aws-kms:[\w:/-]{1,2048}$/.test(text) ? undefined : 'not aws-kms: and a key id or ARN'
  }
  const url = URL.parse(text)
  const isLocal = ['127.0.0.1', '[::1]', 'localhost'].includes(url?.hostname ?? '')
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isLocal)) return undefined
  return 'not https:// and the host of a Web3Signer, or aws-kms: and a key id'
}
