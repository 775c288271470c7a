import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context } from 'koa'
import { type Observers, watch } from '../observability/observe.ts'
import { Answer } from './answer.ts'
import { type Exchange, identify, namesOf, pathOf } from './exchange.ts'

/** A request at a door before Koa. */
export interface Asked extends Exchange {
  /** As it was sent, without what is asked of it. */
  readonly path: string
  /** What Koa makes of the request: it costs time, and is seldom needed. */
  readonly koa: () => Context
}

/** Answers what is asked of it; undefined: it is not asked. */
export type EarlyDoor = (
  request: IncomingMessage,
  response: ServerResponse,
  koa: () => Context,
) => Promise<void> | undefined

/**
 * A door before Koa, for paths that programs ask often: what Koa and its middlewares do for every
 * request costs as much as a paid call does else.
 */
export const earlyDoor =
  (
    isOurs: (path: string) => boolean,
    observers: Observers,
    serve: (asked: Asked, answer: Answer) => Promise<void>,
  ): EarlyDoor =>
  (req, res, koa) => {
    const path = ownPathOf(req, koa)
    if (path === undefined || !isOurs(path)) return undefined
    const asked: Asked = { req, res, state: {}, koa, path }
    watch(observers, asked)
    identify(asked)
    const answer = new Answer(asked, observers.draining)
    answer.tell(namesOf(asked))
    return serve(asked, answer).catch((error: unknown) => {
      observers.log.error({ err: error }, 'unexpected error of the server')
      res.destroy()
    })
  }

/** Koa reads a whole URL. */
function ownPathOf({ url = '' }: IncomingMessage, koa: () => Context): string | undefined {
  if (!url.startsWith('/')) return pathOf(koa())
  const end = url.search(/[?#]/)
  return end < 0 ? url : url.slice(0, end)
}
