/** Start a trip and print what it booked: `npm start ENDPOINT CITY LEAVING RETURNING`. */

import { Client, Connection } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { randomUUID } from 'node:crypto';
import type { trip } from './workflows';

async function main([endpoint, city, leaving, returning]: string[]) {
  if (!endpoint || !city || !leaving || !returning) {
    throw new Error('usage: npm start ENDPOINT CITY LEAVING RETURNING');
  }
  const { connectionOptions, namespace } = loadClientConnectConfig();
  const connection = await Connection.connect(connectionOptions);
  const client = new Client({ connection, namespace });
  const booked = await client.workflow.execute<typeof trip>('trip', {
    args: [endpoint, city, leaving, returning],
    taskQueue: 'typescript-trips',
    workflowId: `trip-${randomUUID()}`,
  });
  console.log(JSON.stringify(booked));
  await connection.close();
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error.cause?.message ?? error.message);
  process.exit(1);
});
