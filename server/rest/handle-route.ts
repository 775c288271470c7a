import type { MoneyOutcome } from '../../core/money-outcome.ts'
import { hasPaymentHeader } from '../http/payment-headers.ts'
import { toFault, withOutcome } from '../http/problem.ts'
import type { AnyRoute, RestReply, RestRequest } from './route.ts'

type AnyRequest = RestRequest<unknown, unknown>

/**
 * Handles a request whose body, query and role have been checked.
 * @throws Fault which says if the request may have made its change
 */
export async function handleRoute(route: AnyRoute, request: AnyRequest): Promise<RestReply> {
  try {
    return await route.handle(request)
  } catch (error) {
    throw withOutcome(toFault(error), outcomeOfFailure(route, request))
  }
}

/** Outcome of a request whose failure does not state it: its commit may have succeeded. */
function outcomeOfFailure(
  { method, price, repeatable }: AnyRoute,
  { body, header }: AnyRequest,
): MoneyOutcome {
  if (hasPaymentHeader(header)) return 'pending'
  if (price) return 'unknown' // an earlier request of the same purchase may have been paid
  if (method !== 'POST' || repeatable === true) return 'none'
  const isNamed = repeatable !== undefined && (body as Record<string, unknown>)[repeatable] != null
  return isNamed ? 'none' : 'unconfirmed'
}
