import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context } from 'koa'
import { type Observers, startTrace } from '../observability/observe.ts'
import { assignRequestId, correlationHeaders, type Exchange, pathOf } from './exchange.ts'
import { ResponseWriter } from './response-writer.ts'

/** A request at a door before Koa. */
export interface PreKoaExchange extends Exchange {
  /** As it was sent, without what is asked of it. */
  readonly path: string
  /** What Koa makes of the request: it costs time, and is seldom needed. */
  readonly koa: () => Context
}

/** Answers what is asked of it; undefined: it is not asked. */
export type PreKoaHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  koa: () => Context,
) => Promise<void> | undefined

/**
 * A door before Koa, for paths that programs ask often: what Koa and its middlewares do for every
 * request costs as much as a paid call does else.
 */
export const preKoaHandler =
  (
    handles: (path: string) => boolean,
    observers: Observers,
    serve: (asked: PreKoaExchange, answer: ResponseWriter) => Promise<void>,
  ): PreKoaHandler =>
  (req, res, koa) => {
    const path = pathWithoutQuery(req, koa)
    if (path === undefined || !handles(path)) return undefined
    const asked: PreKoaExchange = { req, res, state: {}, koa, path }
    startTrace(observers, asked)
    assignRequestId(asked)
    const answer = new ResponseWriter(asked, observers.draining)
    answer.setHeaders(correlationHeaders(asked))
    return serve(asked, answer).catch((error: unknown) => {
      observers.log.error({ err: error }, 'unexpected error of the server')
      res.destroy()
    })
  }

/** Koa reads a whole URL. */
function pathWithoutQuery({ url = '' }: IncomingMessage, koa: () => Context): string | undefined {
  if (!url.startsWith('/')) return pathOf(koa())
  const end = url.search(/[?#]/)
  return end < 0 ? url : url.slice(0, end)
}
