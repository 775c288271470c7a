import type { Steps } from './call.ts'

/** The same steps; when each began, and what it found, stands in the trace of its request. */
export const traced = (steps: Steps): Steps => ({
  authenticate(request) {
    request.trace?.begin('authenticate')
    return steps.authenticate(request)
  },
  limitRate(caller, request) {
    const { trace } = request
    if (trace) trace.keyId = caller.keyId ?? undefined
    trace?.begin('limit')
    return steps.limitRate(caller, request)
  },
  quote(caller, request) {
    request.trace?.begin('quote')
    return steps.quote(caller, request)
  },
  foresee(caller, offer, request) {
    const { trace } = request
    if (trace) trace.service = offer.offering.service.slug
    trace?.begin('foresee')
    return steps.foresee(caller, offer, request)
  },
  fund(caller, offer, request) {
    const { trace } = request
    if (trace) trace.service = offer.offering.service.slug
    trace?.begin('fund')
    return steps.fund(caller, offer, request)
  },
  handle(caller, offer, funds, request) {
    request.trace?.begin('handle')
    return steps.handle(caller, offer, funds, request)
  },
  settle(funds, started) {
    started.request.trace?.begin('settle')
    return steps.settle(funds, started)
  },
  respond(made) {
    made.request.trace?.begin('respond')
    return steps.respond(made)
  },
  stream(started, funds) {
    started.request.trace?.begin('respond')
    return steps.stream(started, funds)
  },
})
