import type { Middleware } from 'koa'
import { Fault } from '../../core/errors.ts'

const DISCOVERY = new RegExp(
  '^/[.]well-known/(?:oauth-(?:protected-resource|authorization-server)' +
    '|openid-configuration)(?:/|$)',
)
const TOLD = 'This hub uses API keys, and no OAuth. "npx agenthub register" makes a key.'

/**
 * Clients that were given no key look for OAuth, and show their user what they hear: so they hear
 * what to do, in the members that OAuth has for it (RFC 6749 §5.2) beside ours.
 * @throws Fault for a request of that kind
 */
export const refuseOAuth: Middleware = (ctx, next) => {
  const more = { extras: { error: 'invalid_request', error_description: TOLD } }
  if (DISCOVERY.test(ctx.path)) throw new Fault('not_found', TOLD, more)
  if (ctx.path === '/register') throw new Fault('api_keys_only', TOLD, more)
  return next()
}
