import type { Context } from '../context.ts'
import { Failure } from '../failure.ts'
import { fetchService } from './show.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
const METHODS: readonly string[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

export type Target = { readonly method: Method; readonly price?: bigint | undefined } & (
  | { readonly kind: 'native'; readonly slug: string; readonly path: string }
  | { readonly kind: 'external'; readonly url: string }
)

/** Resolves a saved tool, URL or `slug/path`. @param asked the method, if given @throws Failure */
export async function resolveTarget(
  context: Context,
  name: string,
  asked: string | undefined,
  hasBody: boolean,
): Promise<Target> {
  const tool = (await context.store.tools())[name]
  if (tool && tool.hub !== context.hub) {
    const hint = `Call it with --hub ${tool.hub}, or add it again.`
    throw new Failure('usage', `${name} was added for the hub ${tool.hub}.`, hint)
  }
  const address = tool?.target ?? name
  const method = parseMethod(asked ?? tool?.method)
  if (/^https?:\/\//i.test(address)) {
    return { kind: 'external', url: address, method: method ?? (hasBody ? 'POST' : 'GET') }
  }
  return resolveNative(context, address, method)
}

async function resolveNative(
  context: Context,
  address: string,
  method: Method | undefined,
): Promise<Target> {
  const [, slug = '', path = '/'] = /^\/?([a-z0-9-]+)(\/.*)?$/.exec(address) ?? []
  if (slug === '') {
    const hint = 'Use slug/path, such as analysis/sentiment, or a URL.'
    throw new Failure('usage', `Not a service, URL or saved tool: ${address}`, hint)
  }
  const service = await fetchService(context, slug)
  const there = service.endpoints.filter((each) => each.path === path)
  const found = method ? there.find((each) => each.method === method) : there[0]
  if (found) {
    const price = BigInt(found.price_microdollars)
    return { kind: 'native', slug, path, method: found.method as Method, price }
  }
  const known = service.endpoints.map((each) => `${each.method} ${slug}${each.path}`)
  throw new Failure(
    'usage',
    `${slug} has no ${method ? `${method} ` : ''}${path}.`,
    `It has: ${known.join(', ')}`,
  )
}

function parseMethod(text: string | undefined): Method | undefined {
  if (text === undefined) return undefined
  const method = text.toUpperCase()
  if (METHODS.includes(method)) return method as Method
  throw new Failure('usage', `Not a method: ${text}`, `One of ${METHODS.join(', ')}`)
}
