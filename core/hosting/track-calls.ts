import { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { isFamily } from '../catalog/services/declaration.ts'
import { type AnyEndpoint, type AnyService, type Family, Reply } from '../plugin/index.ts'
import type { UnderWay } from '../runtime/pending-tasks.ts'

/** The same, but whatever it is at is under way: also a stream, until it is over. */
export const counted = (sold: AnyService | Family, underWay: UnderWay): AnyService | Family =>
  isFamily(sold)
    ? { ...sold, find: async (slug) => countedService(await sold.find(slug), underWay) }
    : countedService(sold, underWay)

function countedService<S extends AnyService | undefined>(service: S, underWay: UnderWay): S {
  if (!service) return service
  const endpoints = Object.entries(service.endpoints).map(([route, endpoint]) => [
    route,
    countedEndpoint(endpoint as AnyEndpoint, underWay),
  ])
  return { ...service, endpoints: Object.fromEntries(endpoints) }
}

const countedEndpoint = (endpoint: AnyEndpoint, underWay: UnderWay): AnyEndpoint => ({
  ...endpoint,
  handle: (call) => underWay.add(answered(endpoint, call, underWay)),
})

async function answered(
  endpoint: AnyEndpoint,
  call: Parameters<AnyEndpoint['handle']>[0],
  underWay: UnderWay,
): Promise<unknown> {
  const answer = await endpoint.handle(call)
  if (answer instanceof Reply && answer.body instanceof Readable) {
    void underWay.add(finished(answer.body).catch(() => undefined))
  }
  return answer
}
