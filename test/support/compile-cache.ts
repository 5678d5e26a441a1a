import { join } from 'node:path'

/** The environment of a process of Node that compiles the modules of this project once, and not at each start. */
export const compileCache = {
  NODE_COMPILE_CACHE: join(import.meta.dirname, '../../node_modules/.cache/node'),
}
