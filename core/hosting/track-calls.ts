import { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { isFamily } from '../catalog/services/declaration.ts'
import { type AnyEndpoint, type AnyService, type Family, Reply } from '../plugin/index.ts'
import type { PendingTasks } from '../runtime/pending-tasks.ts'

/** Wraps a service so that its calls count as pending until they end, including their streams. */
export const trackCalls = (
  declaration: AnyService | Family,
  pendingCalls: PendingTasks,
): AnyService | Family =>
  isFamily(declaration)
    ? {
        ...declaration,
        find: async (slug) => trackService(await declaration.find(slug), pendingCalls),
      }
    : trackService(declaration, pendingCalls)

function trackService<S extends AnyService | undefined>(service: S, pendingCalls: PendingTasks): S {
  if (!service) return service
  const endpoints = Object.entries(service.endpoints).map(([route, endpoint]) => [
    route,
    trackEndpoint(endpoint as AnyEndpoint, pendingCalls),
  ])
  return { ...service, endpoints: Object.fromEntries(endpoints) }
}

const trackEndpoint = (endpoint: AnyEndpoint, pendingCalls: PendingTasks): AnyEndpoint => ({
  ...endpoint,
  handle: (call) => pendingCalls.add(handleTracked(endpoint, call, pendingCalls)),
})

async function handleTracked(
  endpoint: AnyEndpoint,
  call: Parameters<AnyEndpoint['handle']>[0],
  pendingCalls: PendingTasks,
): Promise<unknown> {
  const answer = await endpoint.handle(call)
  if (answer instanceof Reply && answer.body instanceof Readable) {
    void pendingCalls.add(finished(answer.body).catch(() => undefined))
  }
  return answer
}
