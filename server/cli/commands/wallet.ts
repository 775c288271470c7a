import { type Context, isSandbox } from '../context.ts'
import { Failure } from '../failure.ts'
import { keepWallet, openWallet, privateKeyOf, walletFile } from '../wallet.ts'

/** Who pays. */
export async function walletAddress(context: Context, keystore?: string): Promise<void> {
  const sandbox = await isSandbox(context)
  const wallet = await openWallet(context, sandbox, keystore)
  if (!wallet) throw new Failure('error', 'There is no wallet.', 'Make one with `hub register`.')
  const { address } = wallet.account
  await context.terminal.result({ address, sandbox }, () => address)
}

/** Shows the private key, to a person who says that it is wanted. */
export async function walletExport(context: Context): Promise<void> {
  const { terminal } = context
  const question = 'Whoever sees the private key has the money. Show it?'
  if (!terminal.asks) throw new Failure('declined', 'The key is shown at a terminal only.')
  if (!(await terminal.confirm(question))) throw new Failure('declined', 'Not shown.')
  const key = await privateKeyOf(context, await isSandbox(context))
  await terminal.result({ private_key: key }, () => key)
}

/** Puts the wallet's file under a password, or under another one. */
export async function walletEncrypt(context: Context): Promise<void> {
  const { terminal, store, settings } = context
  const sandbox = await isSandbox(context)
  const key = await privateKeyOf(context, sandbox)
  const password = settings.walletPassword ?? (await terminal.password('New password: '))
  if (!password) {
    throw new Failure('usage', 'A password is needed.', 'Set HUB_WALLET_PASSWORD(_FILE).')
  }
  await keepWallet(context, sandbox, key, password)
  const file = walletFile(store, sandbox)
  await terminal.result({ encrypted: file }, () => `Encrypted ${file}.`)
}
