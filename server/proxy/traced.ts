import type { Trace } from '../trace.ts'
import type { CallRequest, Steps } from './call.ts'

/** The same steps; how long each took stands in the trace of its request. */
export const traced = (steps: Steps): Steps => ({
  authenticate: (request) =>
    timed(request, 'authenticate', async (trace) => {
      const caller = await steps.authenticate(request)
      if (trace) trace.keyId = caller.keyId ?? undefined
      return caller
    }),
  limitRate: (caller, request) => timed(request, 'limit', () => steps.limitRate(caller, request)),
  quote: (caller, request) =>
    timed(request, 'quote', async (trace) => {
      const offer = await steps.quote(caller, request)
      if (trace) trace.service = offer.offering.service.slug
      return offer
    }),
  foresee: (caller, offer, request) =>
    timed(request, 'foresee', () => steps.foresee(caller, offer, request)),
  fund: (caller, offer, request) =>
    timed(request, 'fund', () => steps.fund(caller, offer, request)),
  handle: (caller, offer, funds, request) =>
    timed(request, 'handle', () => steps.handle(caller, offer, funds, request)),
  settle: (funds, started) => timed(started.request, 'settle', () => steps.settle(funds, started)),
  respond: (made) => timed(made.request, 'respond', () => steps.respond(made)),
  stream: (started, funds, scope) =>
    timed(started.request, 'respond', () => steps.stream(started, funds, scope)),
})

const timed = <T>(
  { trace }: CallRequest,
  name: string,
  work: (trace: Trace | undefined) => Promise<T>,
): Promise<T> => (trace ? trace.step(name, () => work(trace)) : work(undefined))
