// OpenID provider of the tests: `node provider.mjs PAGE CLIENT` knows one client, which logins lead back
// to at PAGE; whoever says a name is that person. It prints its own address.
import { createServer } from "node:http";
import Provider from "oidc-provider";

const [page, client] = process.argv.slice(2);
const server = createServer().listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const resource = {
    scope: "explain",
    audience: "onnxplain",
    accessTokenFormat: "jwt",
    jwt: { sign: { alg: "RS256" } },
  };
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: client,
        redirect_uris: [page],
        token_endpoint_auth_method: "none",
        grant_types: ["authorization_code"],
        response_types: ["code"],
        application_type: "native",
      },
    ],
    scopes: ["openid", "explain"],
    pkce: { required: () => true },
    cookies: { keys: ["of-tests"] },
    features: {
      resourceIndicators: {
        enabled: true,
        defaultResource: () => "urn:onnxplain",
        useGrantedResource: () => true,
        getResourceServerInfo: () => resource,
      },
    },
  });
  server.on("request", provider.callback());
  console.log(issuer);
});
