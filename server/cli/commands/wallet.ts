import { type Context, isSandbox } from '../context.ts'
import { Failure } from '../failure.ts'
import { readPrivateKey, requireWallet, storeWallet, walletFile } from '../wallet.ts'

export async function walletAddress(context: Context, keystore?: string): Promise<void> {
  const sandbox = await isSandbox(context)
  const { account } = await requireWallet(context, sandbox, keystore)
  const { address } = account
  await context.terminal.result({ address, sandbox }, () => address)
}

/** Shows the private key after confirmation at a terminal. */
export async function walletExport(context: Context): Promise<void> {
  const { terminal } = context
  const question = 'Anyone who sees the private key can take the money. Show it?'
  if (!terminal.isInteractive) throw new Failure('declined', 'The key is shown only in a terminal.')
  if (!(await terminal.confirm(question))) throw new Failure('declined', 'Not shown.')
  const key = await readPrivateKey(context, await isSandbox(context))
  await terminal.result({ private_key: key }, () => key)
}

/** Encrypts the wallet file, or changes its password. */
export async function walletEncrypt(context: Context): Promise<void> {
  const { terminal, store, settings } = context
  const sandbox = await isSandbox(context)
  const key = await readPrivateKey(context, sandbox)
  const password = settings.walletPassword ?? (await terminal.password('New password: '))
  if (!password) {
    throw new Failure('usage', 'A password is required.', 'Set HUB_WALLET_PASSWORD(_FILE).')
  }
  await storeWallet(context, sandbox, key, password)
  const file = walletFile(store, sandbox)
  await terminal.result({ encrypted: file }, () => `Encrypted ${file}.`)
}
