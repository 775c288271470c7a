import { HubError } from '../../../core/client/index.ts'
import { type Context, isSandbox } from '../context.ts'
import { Failure } from '../failure.ts'
import type { Credential } from '../store.ts'
import { dollars } from '../terminal.ts'
import { createWallet, openWallet, walletFile } from '../wallet.ts'

export interface RegisterFlags {
  readonly keystore?: string
  readonly showKey?: boolean
  /** True to add a key to those that are stored. */
  readonly new?: boolean
}

/** Registers the wallet with the hub and stores the key. Creates a wallet if there is none. */
export async function register(context: Context, flags: RegisterFlags): Promise<void> {
  const { terminal, store, hub, client, settings } = context
  const sandbox = await isSandbox(context)
  const stored = await store.credential(hub)
  if (stored && !flags.new) await assertUnusable(context, stored)
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
  if (settings.apiKey !== undefined) {
    terminal.warn('HUB_API_KEY is set: commands use it, not the stored key.')
  }
  const made = known === undefined
  const place = `${keyId}, stored in ${store.path('credentials.json')}`
  const shown = flags.showKey ? { api_key: apiKey } : {}
  const registration = {
    hub,
    key_id: keyId,
    wallet_address: address,
    wallet_created: made,
    sandbox,
  }
  await terminal.result({ ...registration, ...shown }, () =>
    [
      `Registered with ${hub}${sandbox ? ' (a sandbox: its money is worth nothing)' : ''}`,
      `  wallet  ${address}${made ? `, new, in ${walletFile(store, sandbox)}` : ''}`,
      `  key     ${flags.showKey ? apiKey : place}`,
      '',
      'Next: `hub topup 5` buys credits, `hub search` finds services.',
    ].join('\n'),
  )
}

interface OwnKey {
  readonly name: string | null
  readonly balance_microdollars: number | null
}

/** Accepts a stored key only if the hub does not know it, or it is revoked. @throws Failure */
async function assertUnusable(
  { client, hub, terminal }: Context,
  { api_key: apiKey, key_id: id }: Credential,
): Promise<void> {
  try {
    const { body } = await client({ apiKey }).send(`/v1/keys/${encodeURIComponent(id)}`)
    const { name, balance_microdollars: credits } = body as unknown as OwnKey
    const has = credits === null ? 'a sub-key' : `with ${dollars(BigInt(credits))} of credits`
    throw new Failure(
      'error',
      `A key for ${hub} is stored: ${id}${name === null ? '' : ` (${name})`}, ${has}.`,
      'Commands use it already. To add another key: `hub register --new`.',
      { code: 'key_exists', details: { key_id: id, name, balance_microdollars: credits } },
    )
  } catch (error) {
    if (!(error instanceof HubError && error.status === 401)) throw error
    terminal.note(`${hub} does not accept the stored key ${id}; it stays stored.`)
  }
}
