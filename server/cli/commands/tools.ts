import { HubError } from '../../../core/client/index.ts'
import { decimal } from '../../../core/money.ts'
import { type Context, clientWithKey } from '../context.ts'
import { Failure } from '../failure.ts'
import type { Tool } from '../store.ts'
import { dollars, table } from '../terminal.ts'
import { parseDollars } from './arguments.ts'
import { resolveTarget } from './target.ts'

export interface AddFlags {
  readonly name?: string
  readonly method?: string
  readonly description?: string
}

const NAME = /^[a-z][a-z0-9-]{0,39}$/

/** Saves a service under a name, for `hub call NAME`. */
export async function add(context: Context, address: string, flags: AddFlags): Promise<void> {
  const { store, terminal, hub } = context
  const name = flags.name ?? toolNameFor(address)
  if (!NAME.test(name)) {
    throw new Failure('usage', `Not a name: ${name}`, 'Lower-case letters, digits and hyphens.')
  }
  const tools = await store.tools()
  const known = tools[name]
  if (known && known.target !== address) {
    throw new Failure(
      'usage',
      `${name} already stands for ${known.target}.`,
      'Choose another --name.',
    )
  }
  const target = await resolveTarget(context, address, flags.method, false)
  const price = target.price ?? (await fetchExternalPrice(context, address, target.method))
  const tool: Tool = {
    target: address,
    method: target.method,
    hub,
    ...(price === undefined ? {} : { price_usd: decimal(price) }),
    ...(flags.description && { description: flags.description }),
  }
  await store.saveTools({ ...tools, [name]: tool })
  await terminal.result({ name, ...tool }, () => `Added ${name}. Call it: hub call ${name}`)
}

/** Returns the seller's current price. @throws HubError if the hub would not pay it */
async function fetchExternalPrice(context: Context, url: string, method: string) {
  const client = await clientWithKey(context)
  try {
    const { body } = await client.external({ url, method }, { dryRun: true })
    const price = body['price_microdollars']
    return typeof price === 'number' ? BigInt(price) : undefined
  } catch (error) {
    // The price is known; only the funds are missing.
    const price = error instanceof HubError ? error.body['price_microdollars'] : undefined
    if (typeof price !== 'number') throw error
    return BigInt(price)
  }
}

/** Derives a tool name: `https://api.weather.example/v1` becomes `weather`. */
function toolNameFor(address: string): string {
  if (!URL.canParse(address)) return address.replaceAll(/[^a-z0-9]+/g, '-').replaceAll(/^-|-$/g, '')
  const parts = new URL(address).hostname.split('.').filter((part) => !/^(www|api)$/.test(part))
  return (parts.length > 1 ? parts.at(-2) : parts[0])?.toLowerCase() ?? 'tool'
}

export async function tools({ store, terminal }: Context): Promise<void> {
  const known = Object.entries(await store.tools())
  await terminal.result(Object.fromEntries(known), () => {
    if (known.length === 0) return 'No tools yet: hub add https://… saves one.'
    const rows = known.map(([name, { method, target, price_usd: price }]) => {
      return [name, method, target, price === undefined ? '' : dollars(parseDollars(price))]
    })
    return table(['name', '', 'address', 'price'], rows)
  })
}

export async function forget({ store, terminal }: Context, name: string): Promise<void> {
  const { [name]: gone, ...rest } = await store.tools()
  if (!gone) throw new Failure('usage', `There is no tool ${name}.`, 'See `hub tools`.')
  await store.saveTools(rest)
  await terminal.result({ forgotten: name }, () => `Forgot ${name}.`)
}
