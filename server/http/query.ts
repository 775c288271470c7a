import type { Context } from 'koa'
import { Fault } from '../../core/errors.ts'

const PARAMETERS_MAX = 200

/**
 * Returns the query of a request. Koa reads it in quadratic time if a name repeats.
 * @throws Fault `validation_failed` for too many parameters
 */
export function readQuery(ctx: Pick<Context, 'query' | 'querystring'>): Context['query'] {
  if (ctx.querystring.split('&', PARAMETERS_MAX + 1).length > PARAMETERS_MAX) {
    throw new Fault('validation_failed', `Send at most ${PARAMETERS_MAX} query parameters.`)
  }
  return { ...ctx.query }
}

/** Returns the query of a URL with its question mark; empty if there is none. */
export function searchOf(url = ''): string {
  const start = url.indexOf('?')
  return start < 0 ? '' : url.slice(start)
}
