import { metered } from './metered-service.ts'

/** The metered service as an isolated plugin. */
export default metered('metered-apart')
