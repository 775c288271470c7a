import { type Context, isSandbox } from '../context.ts'
import { createWallet, openWallet, walletFile } from '../wallet.ts'

export interface RegisterFlags {
  readonly keystore?: string
  readonly showKey?: boolean
}

/** Registers the wallet with the hub and stores the key. Creates a wallet if there is none. */
export async function register(context: Context, flags: RegisterFlags): Promise<void> {
  const { terminal, store, hub, client } = context
  const sandbox = await isSandbox(context)
  const known = await openWallet(context, sandbox, flags.keystore)
  const wallet = known ?? (await createWallet(context, sandbox))
  const work = client({ wallet }).register()
  const { apiKey, keyId } = await terminal.withSpinner('Registering', work)
  const { address } = wallet.account
  await store.saveCredential(hub, {
    api_key: apiKey,
    key_id: keyId,
    wallet_address: address,
    sandbox,
  })
  const made = known === undefined
  const shown = flags.showKey ? { api_key: apiKey } : {}
  const told = { hub, key_id: keyId, wallet_address: address, wallet_created: made, sandbox }
  await terminal.result({ ...told, ...shown }, () =>
    [
      `Registered with ${hub}${sandbox ? ' (a sandbox: its money is worth nothing)' : ''}`,
      `  wallet  ${address}${made ? `, new, in ${walletFile(store, sandbox)}` : ''}`,
      `  key     ${flags.showKey ? apiKey : `${keyId}, kept in ${store.path('credentials.json')}`}`,
      '',
      'Next: `hub topup 5` buys credits, `hub search` finds services.',
    ].join('\n'),
  )
}
