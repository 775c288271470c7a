import { readFile } from 'node:fs/promises'
import { isAddressEqual, type LocalAccount } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { ConfigError } from '../../runtime/config-error.ts'
import type { Hex } from '../chain/asset.ts'
import { awsKmsSigner } from './aws-kms.ts'
import { readKeyFile } from './key-file.ts'
import { type RemoteSigner, remoteAccount } from './remote-account.ts'
import type { SignerTls, WalletSource } from './wallet-source.ts'
import { web3Signer } from './web3signer.ts'

/**
 * Opens a platform wallet, wherever its key is.
 * @param name prefix of its variables, such as `SPEND_WALLET`
 * @throws ConfigError if the key cannot be used, or is not that of the configured address
 */
export async function openWallet(
  name: string,
  source: WalletSource,
  tls: SignerTls = { ca: undefined, cert: undefined, key: undefined },
): Promise<LocalAccount> {
  if (source.kind === 'environment') return privateKeyToAccount(source.key)
  if (source.kind === 'file') {
    const account = privateKeyToAccount(await readKeyFile(`${name}_KEY_FILE`, source.path))
    if (!source.address || isAddressEqual(account.address, source.address)) return account
    throw new ConfigError(
      `${name}_KEY_FILE contains the key of ${account.address}, not of ${name}_ADDRESS.`,
    )
  }
  const signer =
    source.kind === 'aws-kms'
      ? awsKmsSigner(source)
      : web3Signer({ url: source.url, tls: await readTls(tls) })
  await assertKey(name, signer, source.address)
  return remoteAccount(source.address, signer)
}

async function assertKey(name: string, signer: RemoteSigner, address: Hex): Promise<void> {
  await signer.assertKey(address).catch((cause: Error) => {
    throw new ConfigError(`${name}_SIGNER cannot be used: ${cause.message}`, { cause })
  })
}

async function readTls({ ca, cert, key }: SignerTls) {
  const read = (name: string, path: string | undefined) =>
    path === undefined
      ? undefined
      : readFile(path).catch((cause: NodeJS.ErrnoException) => {
          throw new ConfigError(`${name}: ${path} cannot be read (${cause.code}).`, { cause })
        })
  return {
    ca: await read('HUB_SIGNER_CA', ca),
    cert: await read('HUB_SIGNER_CERT', cert),
    key: await read('HUB_SIGNER_CERT_KEY', key),
  }
}
