/** Vendure from npm in VENDURE_FOLDER, with PostgreSQL on VENDURE_DATABASE_PORT. */
import { createRequire } from 'node:module'
import { join } from 'node:path'

const { VENDURE_FOLDER = '', VENDURE_PORT, VENDURE_DATABASE_PORT, VENDURE_PASSWORD } = process.env
// It is installed outside of the project, whose module resolution does not find it.
const load = createRequire(join(VENDURE_FOLDER, 'package.json'))
const { bootstrap, DefaultLogger, LogLevel } = load('@vendure/core')

await bootstrap({
  apiOptions: { hostname: '127.0.0.1', port: Number(VENDURE_PORT), adminApiPath: 'admin-api' },
  authOptions: {
    tokenMethod: 'bearer',
    superadminCredentials: { identifier: 'superadmin', password: VENDURE_PASSWORD },
  },
  dbConnectionOptions: {
    type: 'postgres',
    host: '127.0.0.1',
    port: Number(VENDURE_DATABASE_PORT),
    username: 'postgres',
    database: 'vendure',
    synchronize: true,
    logging: false,
  },
  paymentOptions: { paymentMethodHandlers: [] },
  logger: new DefaultLogger({ level: LogLevel.Error }),
})
process.send?.('ready')
