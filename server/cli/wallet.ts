import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import type { ClientWallet } from '../../core/client/index.ts'
import type { Settings } from './config.ts'
import { Failure } from './failure.ts'
import { isReadableByOthers, readJson, replaceFile } from './files.ts'
import { decryptKey, encryptKey, isKeystore } from './keystore.ts'
import type { Store } from './store.ts'
import type { Terminal } from './terminal.ts'

type Hex = `0x${string}`

/** A wallet in a file: under a password, or plain. */
interface PlainWallet {
  readonly address: string
  readonly private_key: Hex
}

export interface WalletDeps {
  readonly settings: Settings
  readonly store: Store
  readonly terminal: Terminal
}

/** Wallets of a sandbox and of real money are kept apart: neither signs where the other does. */
export const walletFile = (store: Store, sandbox: boolean): string =>
  store.path(sandbox ? 'wallet-sandbox.json' : 'wallet.json')

/**
 * The wallet to sign with: HUB_PRIVATE_KEY, a keystore that was named, or the user's own file.
 * Undefined when there is none.
 * @throws Failure when it cannot be opened
 */
export async function openWallet(
  ports: WalletDeps,
  sandbox: boolean,
  keystore?: string,
): Promise<(ClientWallet & { readonly account: PrivateKeyAccount }) | undefined> {
  const { settings, store, terminal } = ports
  if (settings.privateKey !== undefined && !sandbox)
    return createAccount(settings.privateKey, false)
  const path = keystore ?? walletFile(store, sandbox)
  const file = await readJson<PlainWallet>(path)
  if (file === undefined) return undefined
  if (await isReadableByOthers(path)) terminal.warn(`Others may read ${path}: chmod 600 it.`)
  const key = isKeystore(file)
    ? await decryptKey(file, await readWalletPassword(ports, path))
    : file.private_key
  return createAccount(key, sandbox)
}

/** Makes a wallet and keeps it, under a password where one is given. */
export async function createWallet(ports: WalletDeps, sandbox: boolean): Promise<ClientWallet> {
  const { store, terminal } = ports
  const key = generatePrivateKey()
  const password = await askNewPassword(ports, sandbox)
  await storeWallet(ports, sandbox, key, password)
  if (password === undefined && !sandbox) {
    terminal.warn(
      `The key of the new wallet lies unencrypted in ${walletFile(store, sandbox)}: keep little ` +
        'in it, or encrypt it with `hub wallet encrypt`.',
    )
  }
  return createAccount(key, sandbox)
}

/** Writes a private key to the user's wallet file. */
export async function storeWallet(
  { store }: WalletDeps,
  sandbox: boolean,
  key: Hex,
  password: string | undefined,
): Promise<void> {
  const { address } = privateKeyToAccount(key)
  const file = password ? await encryptKey(key, password) : { address, private_key: key }
  await replaceFile(walletFile(store, sandbox), `${JSON.stringify(file, null, 2)}\n`)
}

/** The private key itself, for who asks for it. @throws Failure */
export async function readPrivateKey(ports: WalletDeps, sandbox: boolean): Promise<Hex> {
  const path = walletFile(ports.store, sandbox)
  const file = await readJson<PlainWallet>(path)
  if (file === undefined)
    throw new Failure('error', 'There is no wallet.', 'Make one: hub register')
  return isKeystore(file)
    ? decryptKey(file, await readWalletPassword(ports, path))
    : file.private_key
}

function createAccount(key: string, sandbox: boolean) {
  try {
    return { account: privateKeyToAccount(key as Hex), sandbox }
  } catch (cause) {
    const form = 'It is 0x and 64 hex digits.'
    throw new Failure('error', 'The private key of the wallet is not one.', form, { cause })
  }
}

async function readWalletPassword(
  { settings, terminal }: WalletDeps,
  path: string,
): Promise<string> {
  const password = settings.walletPassword ?? (await terminal.password(`Password of ${path}: `))
  if (password !== undefined) return password
  const hint = 'Set HUB_WALLET_PASSWORD or HUB_WALLET_PASSWORD_FILE.'
  throw new Failure('error', 'The wallet has a password, and nobody is there to ask.', hint)
}

/** What a sandbox made is worth nothing: it needs no password. */
async function askNewPassword({ settings, terminal }: WalletDeps, sandbox: boolean) {
  if (sandbox) return undefined
  const question = 'Password for the new wallet (empty: none): '
  const password = settings.walletPassword ?? (await terminal.password(question))
  return password || undefined
}
