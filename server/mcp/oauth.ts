import type { Middleware } from 'koa'
import { Fault } from '../../core/errors.ts'
import { COMMAND_LINE } from '../../core/release.ts'

const DISCOVERY_PATH = new RegExp(
  '^/[.]well-known/(?:oauth-(?:protected-resource|authorization-server)' +
    '|openid-configuration)(?:/|$)',
)
const NO_OAUTH = `This hub uses API keys, not OAuth. Create one with "${COMMAND_LINE} register".`

/**
 * Refuses OAuth, which clients without a key try, and says what to do (RFC 6749 §5.2).
 * @throws Fault `not_found` or `api_keys_only`
 */
export const refuseOAuth: Middleware = (ctx, next) => {
  const more = { extras: { error: 'invalid_request', error_description: NO_OAUTH } }
  if (DISCOVERY_PATH.test(ctx.path)) throw new Fault('not_found', NO_OAUTH, more)
  if (ctx.path === '/register') throw new Fault('api_keys_only', NO_OAUTH, more)
  return next()
}
