import { evil } from './evil.ts'

export default evil('evil-process')
