import type { Middleware } from 'koa'
import { Fault } from '../../core/errors.ts'

const DISCOVERY_PATH = new RegExp(
  '^/[.]well-known/(?:oauth-(?:protected-resource|authorization-server)' +
    '|openid-configuration)(?:/|$)',
)

/** Says how to get an API key. */
export const noOAuth = (command: string): string =>
  `This hub uses API keys, not OAuth. Create one with "${command} register".`

/**
 * Refuses OAuth, which clients without a key try, and says what to do (RFC 6749 §5.2).
 * @throws Fault `not_found` or `api_keys_only`
 */
export const refuseOAuth =
  (command: () => string): Middleware =>
  (ctx, next) => {
    const isDiscovery = DISCOVERY_PATH.test(ctx.path)
    if (!isDiscovery && ctx.path !== '/register') return next()
    const text = noOAuth(command())
    const more = { extras: { error: 'invalid_request', error_description: text } }
    throw new Fault(isDiscovery ? 'not_found' : 'api_keys_only', text, more)
  }
