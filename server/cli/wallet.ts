import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import type { ClientWallet } from '../../core/client/index.ts'
import type { Settings } from './config.ts'
import { Failure } from './failure.ts'
import { isReadableByOthers, readJson, replaceJson } from './files.ts'
import { decryptKey, encryptKey, isKeystore } from './keystore.ts'
import type { Store } from './store.ts'
import type { Terminal } from './terminal.ts'

type Hex = `0x${string}`

/** A wallet file: encrypted, or plain. */
interface PlainWallet {
  readonly address: string
  readonly private_key: Hex
}

export interface WalletDeps {
  readonly settings: Settings
  readonly store: Store
  readonly terminal: Terminal
}

/** Returns the wallet file. Sandbox and real wallets are separate and never sign for each other. */
export const walletFile = (store: Store, sandbox: boolean): string =>
  store.path(sandbox ? 'wallet-sandbox.json' : 'wallet.json')

/**
 * Opens the wallet to sign with: HUB_PRIVATE_KEY, the given keystore, or the user's own file.
 * @returns undefined if there is none
 * @throws Failure if it cannot be opened
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
  if (await isReadableByOthers(path))
    terminal.warn(`Other users can read ${path}: run chmod 600 on it.`)
  const key = isKeystore(file)
    ? await decryptKey(file, await readWalletPassword(ports, path))
    : file.private_key
  return createAccount(key, sandbox)
}

/** Opens the wallet to sign with, as `openWallet`. @throws Failure also if there is none */
export async function requireWallet(...given: Parameters<typeof openWallet>) {
  const wallet = await openWallet(...given)
  if (wallet) return wallet
  const hint = 'Create one with `hub register`, or set HUB_PRIVATE_KEY.'
  throw new Failure('error', 'There is no wallet.', hint)
}

/** Creates a wallet and stores it, encrypted if a password is given. */
export async function createWallet(ports: WalletDeps, sandbox: boolean): Promise<ClientWallet> {
  const { store, terminal } = ports
  const key = generatePrivateKey()
  const password = await askNewPassword(ports, sandbox)
  await storeWallet(ports, sandbox, key, password)
  if (password === undefined && !sandbox) {
    terminal.warn(
      `The key of the new wallet is stored unencrypted in ${walletFile(store, sandbox)}: keep ` +
        'only small amounts in it, or encrypt it with `hub wallet encrypt`.',
    )
  }
  return createAccount(key, sandbox)
}

/** Stores a private key in the user's wallet file. */
export async function storeWallet(
  { store }: WalletDeps,
  sandbox: boolean,
  key: Hex,
  password: string | undefined,
): Promise<void> {
  const { address } = privateKeyToAccount(key)
  const file = password ? await encryptKey(key, password) : { address, private_key: key }
  await replaceJson(walletFile(store, sandbox), file)
}

/** Returns the private key. @throws Failure */
export async function readPrivateKey(ports: WalletDeps, sandbox: boolean): Promise<Hex> {
  const path = walletFile(ports.store, sandbox)
  const file = await readJson<PlainWallet>(path)
  if (file === undefined)
    throw new Failure('error', 'There is no wallet.', 'Create one with `hub register`.')
  return isKeystore(file)
    ? decryptKey(file, await readWalletPassword(ports, path))
    : file.private_key
}

function createAccount(key: string, sandbox: boolean) {
  try {
    return { account: privateKeyToAccount(key as Hex), sandbox }
  } catch (cause) {
    const form = 'Expected 0x and 64 hex digits.'
    throw new Failure('error', 'The private key of the wallet is malformed.', form, { cause })
  }
}

async function readWalletPassword(
  { settings, terminal }: WalletDeps,
  path: string,
): Promise<string> {
  const password = settings.walletPassword ?? (await terminal.password(`Password of ${path}: `))
  if (password !== undefined) return password
  const hint = 'Set HUB_WALLET_PASSWORD or HUB_WALLET_PASSWORD_FILE.'
  throw new Failure(
    'error',
    'The wallet is encrypted, and there is no terminal to ask for the password.',
    hint,
  )
}

/** Asks for the password of a new wallet. Sandbox wallets need none. */
async function askNewPassword({ settings, terminal }: WalletDeps, sandbox: boolean) {
  if (sandbox) return undefined
  const question = 'Password for the new wallet (empty: none): '
  const password = settings.walletPassword ?? (await terminal.password(question))
  return password || undefined
}
