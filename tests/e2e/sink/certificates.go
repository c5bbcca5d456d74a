// SPDX-License-Identifier: Apache-2.0
// "certificates DIR" makes ca.pem, another-ca.pem, server.pem and client.pem with their .key files,
// for an hour; a server is given them by -tls DIR.

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

type signer struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func writePEM(path, kind string, data []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600)
}

// issue writes NAME.pem and NAME.key, signed by a CA or, without one, being one.
func issue(directory, name string, by *signer) (*signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(time.Now().UnixNano()),
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             time.Now().Add(-time.Minute),
		NotAfter:              time.Now().Add(time.Hour),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
		IsCA:                  by == nil,
		DNSNames:              []string{"localhost"},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	if by == nil {
		by = &signer{template, key}
	}
	data, err := x509.CreateCertificate(rand.Reader, template, by.certificate, &key.PublicKey, by.key)
	if err != nil {
		return nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return &signer{template, key}, errors.Join(
		writePEM(filepath.Join(directory, name+".pem"), "CERTIFICATE", data),
		writePEM(filepath.Join(directory, name+".key"), "PRIVATE KEY", secret))
}

func makeCertificates(directory string) error {
	ca, err := issue(directory, "ca", nil)
	if err != nil {
		return err
	}
	_, serverErr := issue(directory, "server", ca)
	_, clientErr := issue(directory, "client", ca)
	_, anotherErr := issue(directory, "another-ca", nil)
	return errors.Join(serverErr, clientErr, anotherErr)
}

// tlsConfig is nil without -tls; with -client-ca a client has to show a certificate of the CA's.
func (s *server) tlsConfig() (*tls.Config, error) {
	if s.tls == "" {
		return nil, nil
	}
	own, err := tls.LoadX509KeyPair(filepath.Join(s.tls, "server.pem"), filepath.Join(s.tls, "server.key"))
	if err != nil {
		return nil, err
	}
	config := &tls.Config{Certificates: []tls.Certificate{own}, NextProtos: []string{"h2", "http/1.1"}}
	if s.clientCA {
		ca, err := os.ReadFile(filepath.Join(s.tls, "ca.pem"))
		if err != nil {
			return nil, err
		}
		config.ClientCAs = x509.NewCertPool()
		config.ClientCAs.AppendCertsFromPEM(ca)
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return config, nil
}
